package gateway

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"time"
)

// HeaderToken carries a one-time token.
const HeaderToken = "Push-Token"

// The parts of a token before its text form, in bytes: a version, when it expires (Unix seconds), random bits, and an
// HMAC-SHA256 over these and the producer's name. The signature tells a forged token without asking Redis, the expiry an
// old one; the key in Redis, deleted by its first use, a used one.
const (
	tokenVersion = 1
	tokenRandom  = 16
	tokenHead    = 1 + 8 + tokenRandom
	tokenSize    = tokenHead + sha256.Size
)

// issued is the answer of POST /v1/tokens.
type issued struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// sign makes a token for the producer.
func sign(key []byte, producer string, expires time.Time) string {
	b := make([]byte, tokenHead, tokenSize)
	b[0] = tokenVersion
	binary.BigEndian.PutUint64(b[1:], uint64(expires.Unix()))
	_, _ = rand.Read(b[9:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(append(b, mac(key, producer, b)...))
}

func mac(key []byte, producer string, head []byte) []byte {
	m := hmac.New(sha256.New, key)
	_, _ = m.Write(head)
	_, _ = m.Write([]byte(producer))
	return m.Sum(nil)
}

// verify reads a token and answers its id: the random bits.
func verify(key []byte, producer, token string, now time.Time) (id string, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) != tokenSize || b[0] != tokenVersion || !hmac.Equal(b[tokenHead:], mac(key, producer, b[:tokenHead])) {
		return "", &failure{code: codeForged}
	}
	if expires := time.Unix(int64(binary.BigEndian.Uint64(b[1:])), 0); now.After(expires) {
		return "", &failure{code: codeExpired}
	}
	return hex.EncodeToString(b[9:tokenHead]), nil
}

// issue is POST /v1/tokens. While Redis is away none is issued: nobody could tell its second use from the first.
func (g *Gateway) issue(w http.ResponseWriter, r *http.Request) {
	producer := trailOf(r).producer
	if err := g.allow(producer, 1); err != nil {
		fail(w, r, err)
		return
	}
	expires := g.cfg.Now().Add(g.cfg.TokenLife).Truncate(time.Second)
	token := sign(g.cfg.TokenKey, producer, expires)
	id, err := verify(g.cfg.TokenKey, producer, token, g.cfg.Now())
	if err == nil {
		err = g.tokens.Issue(r.Context(), id, g.cfg.TokenLife)
	}
	if err != nil {
		fail(w, r, &failure{code: codeRedisAway, retry: retrySoon, err: err})
		return
	}
	writeJSON(w, http.StatusCreated, typeJSON, issued{token, expires.UTC()})
}

// tokenCall is a request that stands on a token.
type tokenCall struct {
	id string
	*request
}

// byToken accepts the events of a request once for its token.
func (g *Gateway) byToken(w http.ResponseWriter, r *http.Request, req *request, token string) {
	id, err := verify(g.cfg.TokenKey, req.producer, token, g.cfg.Now())
	if err != nil {
		fail(w, r, err)
		return
	}
	write := func(ctx context.Context, call tokenCall) (answer, error) {
		return g.whole(r.WithContext(ctx), call.request, identify(kindToken, req.producer, id, req.digest))
	}
	a, err := g.tokens.Do(r.Context(), tokenCall{id, req}, write)
	if g.passes(err) {
		a, err = write(r.Context(), tokenCall{id, req})
	}
	if err != nil {
		fail(w, r, g.failed(req, err))
		return
	}
	g.cfg.Meter.Events(req.producer, arrivedAccepted, a.Accepted)
	g.accept(w, r, a, false)
}
