package provider

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// tokenGrace is how long a token lives on after it was replaced, and how long before its end it is replaced.
const tokenGrace = 5 * time.Minute

// tokens gives out and knows access tokens.
type tokens struct {
	life time.Duration
	now  func() time.Time

	mu     sync.Mutex           // guards all below
	alive  map[string]time.Time // each token's end
	stable string               // the stable token of the moment
	stale  bool                 // it is dead, and given out until a new one is forced
	number int
}

// tokenAnswer is the body of both token calls.
type tokenAnswer struct {
	AccessToken string `json:"access_token"`
	ExpiresIn   int    `json:"expires_in"` // seconds
}

// token is the old call: a new token each time.
func (s *Sandbox) token(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.giveToken(w, r, Keys{q.Get("appid"), q.Get("secret")}, func() tokenAnswer { return s.tokens.give() })
}

// stableToken is the call whose token is the same for everybody while it lives.
func (s *Sandbox) stableToken(w http.ResponseWriter, r *http.Request) {
	var in struct {
		AppID  string `json:"appid"`
		Secret string `json:"secret"`
		Force  bool   `json:"force_refresh"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || json.Unmarshal(body, &in) != nil {
		write(w, wechatRefusal("47001", "data format error"))
		return
	}
	s.giveToken(w, r, Keys{in.AppID, in.Secret}, func() tokenAnswer { return s.tokens.giveStable(in.Force) })
}

func (s *Sandbox) giveToken(w http.ResponseWriter, r *http.Request, keys Keys, give func() tokenAnswer) {
	switch {
	case keys.ID != s.cfg.WeChat.ID:
		write(w, wechatRefusal("40013", "invalid appid"))
	case keys.Secret != s.cfg.WeChat.Secret:
		write(w, wechatRefusal("40125", "invalid appsecret"))
	default:
		accept := func() answer { return ok(give()) }
		s.play(w, r, request{provider: WeChat, call: CallToken}, script{accept: accept, refuse: wechatRefusal, throttled: wechatThrottled})
	}
}

func (t *tokens) give() tokenAnswer {
	t.mu.Lock()
	defer t.mu.Unlock()
	token := t.fresh()
	return tokenAnswer{token, int(t.life.Seconds())}
}

func (t *tokens) giveStable(force bool) tokenAnswer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stale && !force {
		return tokenAnswer{t.stable, int(t.life.Seconds())}
	}
	now := t.now()
	left := t.alive[t.stable].Sub(now)
	if force {
		delete(t.alive, t.stable)
		t.stale = false
	}
	if force || left < min(tokenGrace, t.life/4) {
		t.stable = t.fresh()
		left = t.life
	}
	return tokenAnswer{t.stable, int(left.Seconds())}
}

// fresh makes a token; the caller holds the lock.
func (t *tokens) fresh() string {
	now := t.now()
	for token, end := range t.alive {
		if !now.Before(end) {
			delete(t.alive, token)
		}
	}
	t.number++
	token := "sandbox-access-token-" + strconv.Itoa(t.number)
	t.alive[token] = now.Add(t.life)
	return token
}

func (t *tokens) valid(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	end, known := t.alive[token]
	return known && t.now().Before(end)
}

// revoke kills the stable token, and answers the send that used it. A stale one is given out all the same, until
// somebody forces a new one.
func (s *Sandbox) revoke(stale bool) answer {
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	delete(s.tokens.alive, s.tokens.stable)
	s.tokens.stale = stale
	return deadToken()
}

// ForgetTokens makes every access token invalid, as when somebody else forced a new one.
func (s *Sandbox) ForgetTokens() {
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	s.tokens.alive, s.tokens.stable, s.tokens.stale = map[string]time.Time{}, "", false
}
