package config

import (
	"crypto/tls"
	"fmt"
	"regexp"
	"time"

	"pusher/internal/push"
)

// The values of gateway.on_redis_down.
const (
	Refuse = "refuse" // answer 503 until Redis is back
	Pass   = "pass"   // let through: the pusher's own dedup still stands
)

// Gateway is the producers' front door, `pusher gateway`.
type Gateway struct {
	Addr              string        `yaml:"addr"`               // host:port [127.0.0.1:8081]
	Producers         []string      `yaml:"producers"`          // NAME=sha256:HEX of each credential; one name may have several
	TokenKey          Secret        `yaml:"token_key"`          // signs one-time tokens; the same at every gateway
	TokenLife         time.Duration `yaml:"token_life"`         // [10m]
	KeyWindow         time.Duration `yaml:"key_window"`         // how long an Idempotency-Key and its answer are remembered [24h]
	Fingerprint       []string      `yaml:"fingerprint"`        // what makes two requests without token and key the same, as dedup.by; empty: the whole event
	FingerprintWindow time.Duration `yaml:"fingerprint_window"` // and for how long [1m]
	Lease             time.Duration `yaml:"lease"`              // how long the requests of a gateway that died stay in progress [10s]
	OnRedisDown       string        `yaml:"on_redis_down"`      // refuse or pass [refuse]
	Rate              float64       `yaml:"rate"`               // events a second of one producer at one gateway; 0 for no limit
	MaxBody           int           `yaml:"max_body"`           // bytes of a request [8388608, 8 MiB]
	MaxBatch          int           `yaml:"max_batch"`          // events of a request [1000]
	InHand            int           `yaml:"in_hand"`            // bytes of all requests in hand at once [67108864, 64 MiB]
	Timeout           time.Duration `yaml:"timeout"`            // of writing to Kafka [10s]
	Grace             time.Duration `yaml:"grace"`              // from SIGTERM to the end [15s]
	TLS               ServerTLS     `yaml:"tls"`
}

// ServerTLS protects what we serve; the files are PEM. Both empty: plain.
type ServerTLS struct {
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
}

// Producer is one credential of a producer.
type Producer struct {
	Name string
	Hash string // SHA-256 of the credential, 64 hex digits
}

// defaultGateway is the section of an empty file: nobody is let in.
func defaultGateway() Gateway {
	return Gateway{
		Addr: "127.0.0.1:8081", Producers: []string{}, Fingerprint: []string{},
		TokenLife: 10 * time.Minute, KeyWindow: 24 * time.Hour, FingerprintWindow: time.Minute,
		Lease: 10 * time.Second, OnRedisDown: Refuse, MaxBody: 8 << 20, MaxBatch: 1000, InHand: 64 << 20,
		Timeout: 10 * time.Second, Grace: 15 * time.Second,
	}
}

var producerForm = regexp.MustCompile(`^([A-Za-z0-9_.-]{1,64})=sha256:([0-9a-f]{64})$`)

// Credentials reads the list of producers, which Load has checked.
func (g Gateway) Credentials() []Producer {
	var list []Producer
	for _, entry := range g.Producers {
		if m := producerForm.FindStringSubmatch(entry); m != nil {
			list = append(list, Producer{Name: m[1], Hash: m[2]})
		}
	}
	return list
}

// validate never shows an entry of producers: who writes one wrong may have written the credential itself.
func (g Gateway) validate(v *validator) {
	v.address("gateway.addr", g.Addr)
	v.checkf(len(g.Credentials()) == len(g.Producers), "gateway.producers",
		"has an entry that is not NAME=sha256:HEX: make one with `pusher gateway credential NAME`")
	v.checkf(g.TokenKey == "" || len(g.TokenKey) >= 32, "gateway.token_key", "is too short to sign with: use 32 characters or more")
	v.checkf(g.TokenLife >= time.Second && g.TokenLife <= 24*time.Hour, "gateway.token_life", "is %s: must be 1s to 24h", g.TokenLife)
	v.checkf(g.Lease >= time.Second, "gateway.lease", "is %s: must be at least 1s", g.Lease)
	v.checkf(g.KeyWindow >= g.Lease, "gateway.key_window", "is %s: must not be shorter than gateway.lease (%s)", g.KeyWindow, g.Lease)
	v.checkf(g.FingerprintWindow >= g.Lease, "gateway.fingerprint_window",
		"is %s: must not be shorter than gateway.lease (%s)", g.FingerprintWindow, g.Lease)
	if len(g.Fingerprint) > 0 {
		_, err := By(g.Fingerprint).parse()
		v.checkf(err == nil, "gateway.fingerprint", "%v", err)
	}
	v.one("gateway.on_redis_down", g.OnRedisDown, Refuse, Pass)
	v.checkf(g.Rate >= 0, "gateway.rate", "is %v: must be 0 (no limit) or more", g.Rate)
	v.checkf(g.MaxBody >= 1<<20 && g.MaxBody <= 256<<20, "gateway.max_body", "is %d: must be 1048576 (the largest event) to 268435456", g.MaxBody)
	v.checkf(g.MaxBatch >= 1 && g.MaxBatch <= 10_000, "gateway.max_batch", "is %d: must be 1 to 10000", g.MaxBatch)
	v.checkf(g.InHand >= g.MaxBody, "gateway.in_hand", "is %d: must not be less than gateway.max_body (%d)", g.InHand, g.MaxBody)
	v.checkf(g.Timeout > 0 && g.Timeout <= 15*time.Second, "gateway.timeout",
		"is %s: must be more than 0 and at most 15s, since the door answers within 30s of a request", g.Timeout)
	v.checkf(g.Grace >= g.Timeout, "gateway.grace", "is %s: must not be shorter than gateway.timeout (%s)", g.Grace, g.Timeout)
	_, err := g.TLS.Server()
	v.checkf(err == nil, "gateway.tls", "%v", err)
}

// Server returns the settings of what we serve, nil for plain.
func (t ServerTLS) Server() (*tls.Config, error) {
	if t.CertFile == "" && t.KeyFile == "" {
		return nil, nil //nolint:nilnil // nil is crypto/tls's own word for "plain"
	}
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("reading cert_file and key_file: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
}

// NeedGateway says, as an *Error, what the front door needs and is not configured.
func (c *Config) NeedGateway() error {
	var lacks []Problem
	if len(c.Gateway.Producers) == 0 {
		lacks = append(lacks, c.places.problem("gateway.producers",
			"is missing: let a producer in, with `pusher gateway credential NAME`"))
	}
	if c.Gateway.TokenKey == "" {
		lacks = append(lacks, c.places.problem("gateway.token_key",
			"is missing: 32 random characters or more, the same at every gateway, here, as token_key_file or as PUSHER_GATEWAY_TOKEN_KEY"))
	}
	return asError(lacks)
}

// FingerprintBy reads gateway.fingerprint; nil: the whole event counts.
func (g Gateway) FingerprintBy() *push.By {
	if len(g.Fingerprint) == 0 {
		return nil
	}
	by, _ := By(g.Fingerprint).parse() // Load has checked it
	return &by
}
