package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"

	"golang.org/x/time/rate"
)

// NewCredential makes a credential for a producer: the secret, which nobody keeps but the producer, and its entry for
// gateway.producers. It has 256 random bits, so that a plain hash is enough to hide it.
func NewCredential(name string) (secret, entry string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	secret = "pgw_" + base64.RawURLEncoding.EncodeToString(b[:])
	sum := sha256.Sum256([]byte(secret))
	return secret, name + "=sha256:" + hex.EncodeToString(sum[:])
}

// authorized lets in who has a credential. Every one is compared, in a time that tells nothing of any.
func (g *Gateway) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(strings.TrimSpace(secret)))
		name := ""
		for _, p := range g.cfg.Producers {
			if subtle.ConstantTimeCompare(sum[:], p.Hash[:]) == 1 {
				name = p.Name
			}
		}
		if name == "" || !strings.EqualFold(scheme, "Bearer") {
			fail(w, r, &failure{code: codeNobody})
			return
		}
		trailOf(r).producer = name
		next(w, r)
	}
}

// limiters are the producers' rates, each full at first. A batch passes whole or not at all.
func limiters(cfg Config) map[string]*rate.Limiter {
	all := map[string]*rate.Limiter{}
	for _, p := range cfg.Producers {
		limit := rate.Limit(cfg.Rate)
		if cfg.Rate == 0 {
			limit = rate.Inf
		}
		all[p.Name] = rate.NewLimiter(limit, max(cfg.MaxBatch, int(cfg.Rate)))
	}
	return all
}

// allow takes n events from the producer's rate.
func (g *Gateway) allow(producer string, n int) error {
	now := g.cfg.Now()
	reserved := g.rates[producer].ReserveN(now, n)
	wait := reserved.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reserved.CancelAt(now)
	g.cfg.Meter.Events(producer, arrivedLimited, n)
	return &failure{code: codeRate, retry: wait}
}
