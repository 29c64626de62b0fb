package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS is how a connection is protected; the files are PEM.
type TLS struct {
	Enabled            bool   `yaml:"enabled"`              // [false]
	CAFile             string `yaml:"ca_file"`              // who signs the server; empty for the system's own
	CertFile           string `yaml:"cert_file"`            // our certificate, where the server asks for one
	KeyFile            string `yaml:"key_file"`             // its key
	ServerName         string `yaml:"server_name"`          // the name to verify; empty for the address's host
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify"` // takes any certificate: for tests only [false]
}

// Client returns the settings of a client connection, nil when TLS is off.
func (t TLS) Client() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil //nolint:nilnil // nil is crypto/tls's and every client's own word for "plain"
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify} //nolint:gosec // the operator's own word
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading ca_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading ca_file: %s holds no PEM certificate", t.CAFile)
		}
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("cert_file and key_file go together: give both or none")
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("reading cert_file and key_file: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
