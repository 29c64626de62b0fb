package gateway

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/dedup"
	"pusher/internal/push"
	"pusher/internal/testbed"
)

func TestATokenLetsOneRequestThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	token := w.token(t)
	for _, step := range [][2]string{{event(1), "202 1/0/0"}, {event(1), "409 token_spent"}, {event(2), "409 token_spent"}} {
		if got := w.post(t, step[0], HeaderToken, token); got.says() != step[1] {
			t.Errorf("%s: %s", step[0], got.says())
		}
	}
	token = w.token(t)
	if got := w.post(t, `{"biz_type":"viewed"}`, HeaderToken, token); got.says() != "400 invalid_events" {
		t.Errorf("a bad event: %s", got.says())
	}
	w.topic.failing(func(int, push.Record) error { return push.ErrUnwritten })
	if got := w.post(t, event(3), HeaderToken, token); got.says() != "503 kafka_away" {
		t.Errorf("Kafka away: %s", got.says())
	}
	w.topic.failing(func(int, push.Record) error { return http.ErrHandlerTimeout })
	if got := w.post(t, event(3), HeaderToken, token); got.says() != "503 outcome_unknown" {
		t.Errorf("no answer: %s", got.says())
	}
	w.topic.failing(nil)
	if got := w.post(t, event(4), HeaderToken, token); got.says() != "422 key_reused" {
		t.Errorf("another payload after an unknown outcome: %s", got.says())
	}
	if got := w.post(t, event(3), HeaderToken, token); got.says() != "202 1/0/0" {
		t.Errorf("at last: %s", got.says())
	}
}

func TestTokensThatAreForgedOrOldAreToldApart(t *testing.T) {
	t.Parallel()
	key, now := []byte(strings.Repeat("k", 32)), time.Unix(1_700_000_000, 0)
	good := sign(key, "orders", now.Add(time.Minute))
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(i int) string {
		b := append([]byte(nil), raw...)
		b[i] ^= 1
		return base64.RawURLEncoding.EncodeToString(b)
	}
	tests := map[string]struct{ token, producer, code string }{
		"good":             {good, "orders", ""},
		"another's":        {good, "jobs", codeForged},
		"later expiry":     {changed(8), "orders", codeForged},
		"other random":     {changed(9), "orders", codeForged},
		"other signature":  {changed(tokenHead), "orders", codeForged},
		"other version":    {changed(0), "orders", codeForged},
		"cut":              {good[:40], "orders", codeForged},
		"no base64":        {"%%%", "orders", codeForged},
		"old":              {sign(key, "orders", now.Add(-time.Second)), "orders", codeExpired},
		"signed elsewhere": {sign([]byte("another key"), "orders", now.Add(time.Minute)), "orders", codeForged},
	}
	for name, tt := range tests {
		id, err := verify(key, tt.producer, tt.token, now)
		f, _ := errors.AsType[*failure](err)
		if tt.code == "" && (err != nil || len(id) != 2*tokenRandom) || tt.code != "" && (f == nil || f.code != tt.code) {
			t.Errorf("%s: %q %v", name, id, err)
		}
	}
	if again := sign(key, "orders", now.Add(time.Minute)); again == good {
		t.Error("two tokens are one")
	}
}

func TestTokensAtTheDoor(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	w := newWorld(t, testbed.Redis(t), func(c *Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	token := w.token(t)
	if got := w.ask(t, "POST", "/v1/events", event(1), "Authorization", "Bearer "+w.other, HeaderToken, token); got.says() != "403 token_forged" {
		t.Errorf("another producer's: %s", got.says())
	}
	ahead.Store(int64(2 * time.Minute))
	if got := w.post(t, event(1), HeaderToken, token); got.says() != "410 token_expired" {
		t.Errorf("later: %s", got.says())
	}
}

// TestATokenUsedByAHundredAtOnce: one is accepted, the others are told so, one event is written.
func TestATokenUsedByAHundredAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	token := w.token(t)
	var accepted, conflicts atomic.Int32
	var all sync.WaitGroup
	start := make(chan struct{})
	for range 100 {
		all.Go(func() {
			<-start
			switch got := w.post(t, event(1), HeaderToken, token); got.StatusCode {
			case http.StatusAccepted:
				accepted.Add(1)
			case http.StatusConflict:
				conflicts.Add(1)
			default:
				t.Errorf("%s", got.text)
			}
		})
	}
	close(start)
	all.Wait()
	if accepted.Load() != 1 || conflicts.Load() != 99 || w.topic.ids() != "1" {
		t.Errorf("%d accepted, %d conflicts, written %q", accepted.Load(), conflicts.Load(), w.topic.ids())
	}
}

func TestRedisAway(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{"refuse": {"503 redis_away", ""}, "pass": {"202 1/0/0", "1 2 3 1 2 3"}} {
		own := testbed.OwnRedis(t)
		w := newWorld(t, &redis.Options{Addr: own.Addr, MaxRetries: -1}, func(c *Config) { c.PassDown = name == "pass" })
		token := w.token(t)
		own.Stop()
		for range 2 {
			for i, headers := range [][]string{{dedup.HeaderKey, "k"}, nil, {HeaderToken, token}} {
				if got := w.post(t, event(i+1), headers...); got.says() != want[0] {
					t.Errorf("%s, %v: %s", name, headers, got.text)
				}
			}
		}
		if got := w.ask(t, "POST", "/v1/tokens", "", "Authorization", "Bearer "+w.secret); got.says() != "503 redis_away" {
			t.Errorf("%s: a token: %s", name, got.says())
		}
		if w.topic.ids() != want[1] {
			t.Errorf("%s: written %q", name, w.topic.ids())
		}
		own.Start()
		for deadline := time.Now().Add(20 * time.Second); ; {
			if got := w.post(t, event(9), dedup.HeaderKey, "back"); strings.HasPrefix(got.says(), "202 1/0/0") {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("%s: never back: %s", name, got.text)
			}
		}
	}
}

func TestARateHoldsAProducerBackByItself(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := newWorld(t, testbed.Redis(t), func(c *Config) {
		c.Rate, c.MaxBatch, c.Now = 10, 20, func() time.Time { return now }
	})
	body := array(events(1, 20)...)
	if got := w.post(t, body, dedup.HeaderKey, "a"); got.says() != "202 20/0/0" {
		t.Fatal(got.text)
	}
	if got := w.post(t, array(events(30, 15)...)); got.says() != "429 rate_limited" || got.Header.Get("Retry-After") != "2" {
		t.Errorf("%s after %s", got.says(), got.Header.Get("Retry-After"))
	}
	if got := w.post(t, body, dedup.HeaderKey, "a"); got.says() != "202 20/0/0 replayed" {
		t.Errorf("an answer given before: %s", got.says())
	}
	if got := w.ask(t, "POST", "/v1/events", event(1), "Authorization", "Bearer "+w.other); got.says() != "202 1/0/0" {
		t.Errorf("another producer: %s", got.says())
	}
	if got := w.ask(t, "POST", "/v1/tokens", "", "Authorization", "Bearer "+w.secret); got.says() != "429 rate_limited" {
		t.Errorf("a token: %s", got.says())
	}
}

func TestNothingPersonalIsLoggedOrKeptInRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	body := `{"biz_type":"viewed","biz_id":"order-778899","recipient":{"phone":"13800138000","openid":"oAbC123456"},"params":{"n":"Zhang San"}}`
	token := w.token(t)
	w.post(t, body, dedup.HeaderKey, "key-of-13800138000", "X-Request-Id", "call-1")
	w.post(t, body, HeaderToken, token)
	w.post(t, body)
	w.post(t, strings.Replace(body, `"viewed"`, `"13800138000"`, 1))
	shown := w.log.String()
	for _, key := range w.redis.Keys(t.Context(), "*").Val() {
		shown += fmt.Sprintln(key, w.redis.Get(t.Context(), key).Val())
	}
	for _, private := range []string{"13800138000", "oAbC123456", "Zhang", "778899", w.secret, token} {
		if strings.Contains(shown, private) {
			t.Errorf("%q is in %s", private, shown)
		}
	}
	if !strings.Contains(shown, `"request_id":"call-1","route":"events","http_status":202`) || !strings.Contains(shown, `"producer":"orders"`) {
		t.Errorf("the access log: %s", shown)
	}
}

func TestEventsAreCountedByWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	w.post(t, array(events(1, 3)...), dedup.HeaderKey, "k")
	w.post(t, array(events(4, 2)...))
	w.post(t, array(events(4, 2)...))
	w.post(t, array(event(7), "{}"))
	w.topic.failing(func(int, push.Record) error { return push.ErrUnwritten })
	w.post(t, event(8))
	w.topic.failing(func(int, push.Record) error { return http.ErrHandlerTimeout })
	w.post(t, event(9), dedup.HeaderKey, "k9")
	want := map[string]int{"accepted": 5, "repeated": 2, "invalid": 1, "unwritten": 1, "unknown": 1}
	for outcome, n := range want {
		if w.meter.events[outcome] != n {
			t.Errorf("%s: %d, want %d", outcome, w.meter.events[outcome], n)
		}
	}
}
