package console

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Role is what a session may do.
type Role string

// The roles. An operator may do what a viewer may.
const (
	Viewer   Role = "viewer"   // looks
	Operator Role = "operator" // looks and acts
)

const (
	cookieName  = "pusher_console"
	root        = "/console/"
	sessionLife = 12 * time.Hour // from the sign-in: a shift
)

// session is who signed in; the browser keeps it, signed, so that every instance behind one address knows it.
type session struct {
	Who   string    `json:"who"` // as the operator named itself; in the audit of what it does
	Role  Role      `json:"role"`
	ID    string    `json:"id"` // random: makes this session's form tokens its own
	Until time.Time `json:"until"`
}

// keeper knows the tokens and signs sessions. The key comes of the tokens: a changed token ends every session.
type keeper struct {
	operator, viewer [sha256.Size]byte // of the tokens: compared in a time that depends on neither
	hasOperator      bool
	hasViewer        bool
	key              []byte
}

// newKeeper derives what it needs; an empty token opens nothing.
func newKeeper(operator, viewer string) (keeper, error) {
	key, err := hkdf.Key(sha256.New, []byte(operator+"\x00"+viewer), nil, "pusher console session", sha256.Size)
	return keeper{
		operator: sha256.Sum256([]byte(operator)), viewer: sha256.Sum256([]byte(viewer)),
		hasOperator: operator != "", hasViewer: viewer != "", key: key,
	}, err
}

// admit says what a token opens. It compares with both, always.
func (k keeper) admit(token string) (Role, bool) {
	given := sha256.Sum256([]byte(token))
	operator := subtle.ConstantTimeCompare(given[:], k.operator[:]) == 1
	viewer := subtle.ConstantTimeCompare(given[:], k.viewer[:]) == 1
	switch {
	case operator && k.hasOperator:
		return Operator, true
	case viewer && k.hasViewer:
		return Viewer, true
	}
	return "", false
}

// open begins a session.
func (k keeper) open(who string, role Role, now time.Time) session {
	return session{Who: who, Role: role, ID: rand.Text(), Until: now.Add(sessionLife).UTC().Truncate(time.Second)}
}

// seal writes a session as a cookie's value.
func (k keeper) seal(s session) string {
	text, _ := json.Marshal(s) // strings and a time
	body := base64.RawURLEncoding.EncodeToString(text)
	return body + "." + k.sign("session", body)
}

// read opens what seal wrote; false when it is forged, over, or of other tokens.
func (k keeper) read(value string, now time.Time) (s session, ok bool) {
	body, signature, _ := strings.Cut(value, ".")
	if !hmac.Equal([]byte(signature), []byte(k.sign("session", body))) {
		return session{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(text, &s) != nil || !now.Before(s.Until) {
		return session{}, false
	}
	return s, true
}

// formToken is what a form of this session must carry: another site cannot know it.
func (k keeper) formToken(s session) string { return k.sign("form", s.ID) }

// sign is a keyed hash of text for one use.
func (k keeper) sign(use, text string) string {
	mac := hmac.New(sha256.New, k.key)
	mac.Write([]byte(use + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// cookie carries value until then; the zero time ends it. No script reads it, and no other site's request carries it.
func cookie(r *http.Request, value string, until time.Time) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // Secure where the browser speaks TLS
		Name: cookieName, Value: value, Path: root, Expires: until,
		HttpOnly: true, Secure: secure(r), SameSite: http.SameSiteStrictMode,
	}
	if until.IsZero() {
		c.MaxAge = -1
	}
	return c
}

// secure reports whether the browser speaks TLS, to us or to a proxy of ours. Who lies about it only locks itself out.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
