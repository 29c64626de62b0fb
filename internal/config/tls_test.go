package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// pair writes a certificate that signs itself, and its key.
func pair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"kafka"}}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "EC PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestTLSOfAClient(t *testing.T) {
	t.Parallel()
	cert, key := pair(t)
	off, err := TLS{}.Client()
	if off != nil || err != nil {
		t.Errorf("off: got %v, %v", off, err)
	}
	on, err := TLS{Enabled: true, CAFile: cert, CertFile: cert, KeyFile: key, ServerName: "kafka"}.Client()
	if err != nil {
		t.Fatal(err)
	}
	if on.MinVersion != tls.VersionTLS12 || on.ServerName != "kafka" || on.RootCAs == nil || len(on.Certificates) != 1 || on.InsecureSkipVerify {
		t.Errorf("got %+v", on)
	}
	for name, bad := range map[string]TLS{
		"ca absent": {Enabled: true, CAFile: "/nowhere"}, "ca of another kind": {Enabled: true, CAFile: key},
		"half a pair": {Enabled: true, CertFile: cert}, "pair swapped": {Enabled: true, CertFile: key, KeyFile: cert},
	} {
		if _, err := bad.Client(); err == nil {
			t.Errorf("%s: took it", name)
		}
	}
}
