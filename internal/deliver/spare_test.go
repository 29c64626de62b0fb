package deliver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pusher/internal/push"
)

// away is Redis that answers only while up; it counts what it is asked.
type away struct {
	mu    sync.Mutex
	up    bool
	asked int
}

func (a *away) word(n int) []push.KeyAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	answers := make([]push.KeyAnswer, n)
	for i := range answers {
		answers[i] = push.KeyAnswer{Mine: a.up}
		if !a.up {
			answers[i].Err = errAway
		}
	}
	return answers
}

func (a *away) Claim(_ context.Context, claims []push.Claim) []push.Grant {
	grants := make([]push.Grant, len(claims))
	for i, answer := range a.word(len(claims)) {
		grants[i] = push.Grant{Verdict: push.Busy, Err: answer.Err}
	}
	return grants
}

func (a *away) Settle(_ context.Context, s []push.KeySettle) []push.KeyAnswer { return a.word(len(s)) }
func (a *away) Release(_ context.Context, h []push.KeyHold) []push.KeyAnswer  { return a.word(len(h)) }
func (a *away) Renew(_ context.Context, h []push.KeyHold) []push.KeyAnswer    { return a.word(len(h)) }

// spareOf is a spare on a Redis, with the changes that it tells.
func spareOf(keys Keys, c *clock) (s *spare, told *[]string) {
	told = new([]string)
	return &spare{Keys: keys, now: c.now, told: func(away bool, err error) {
		*told = append(*told, fmt.Sprintf("%t %v", away, err))
	}}, told
}

func TestWithoutRedisClaimsAreGrantedAndOneBatchASecondAsks(t *testing.T) {
	t.Parallel()
	redis, c := &away{}, newClock()
	s, told := spareOf(redis, c)
	claim := func() push.Grant { return s.Claim(t.Context(), make([]push.Claim, 3))[2] }
	for range 10 {
		if g := claim(); g.Verdict != push.Granted || g.Err != nil {
			t.Fatalf("%+v, want granted", g)
		}
	}
	if redis.asked != 1 {
		t.Errorf("asked %d times, want once", redis.asked)
	}
	c.pass(probeEvery)
	claim()
	claim()
	if redis.asked != 2 || !s.isAway() {
		t.Errorf("asked %d times, away %t; want one probe, and still away", redis.asked, s.isAway())
	}
	redis.up = true
	c.pass(probeEvery)
	if g := claim(); g.Verdict != push.Busy || s.isAway() {
		t.Errorf("%+v, want what Redis said", g)
	}
	if want := []string{"true away", "false <nil>"}; fmt.Sprint(*told) != fmt.Sprint(want) {
		t.Errorf("told %v, want %v", *told, want)
	}
}

func TestWithoutRedisWordsAreLeftUndone(t *testing.T) {
	t.Parallel()
	redis, c := &away{}, newClock()
	s, _ := spareOf(redis, c)
	for range 3 {
		for name, answers := range map[string][]push.KeyAnswer{
			"settle":  s.Settle(t.Context(), make([]push.KeySettle, 1)),
			"release": s.Release(t.Context(), make([]push.KeyHold, 1)),
			"renew":   s.Renew(t.Context(), make([]push.KeyHold, 1)),
		} {
			if answers[0] != (push.KeyAnswer{}) {
				t.Errorf("%s: %+v, want nothing done and no error", name, answers[0])
			}
		}
		c.pass(time.Hour) // only a claim asks whether it is back
	}
	if redis.asked != 1 {
		t.Errorf("asked %d times, want once", redis.asked)
	}
}

func TestOneProbeAtATime(t *testing.T) {
	t.Parallel()
	c := newClock()
	s, _ := spareOf(&away{}, c)
	s.Claim(t.Context(), make([]push.Claim, 1))
	c.pass(probeEvery)
	if !s.mayAsk() || s.mayAsk() {
		t.Error("want one probe, and nobody else waiting for its answer")
	}
}

func TestInvariantDEverythingIsSentOnceWithoutRedis(t *testing.T) {
	t.Parallel()
	w := newWorld()
	cfg := w.config()
	cfg.Spare = true
	d := New(cfg, &away{}, w, results{w})
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	for range 2 {
		if err := handle(t, d, "sms"); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.row(t).Status; got != push.Sent || len(w.sent) != 1 || !d.WithoutRedis() {
		t.Errorf("row is %s after %d sends, without redis %t", got, len(w.sent), d.WithoutRedis())
	}
}

func TestPausedClaimsSendNothing(t *testing.T) {
	t.Parallel()
	w, redis := newWorld(), &away{}
	d := New(w.config(), redis, w, results{w})
	done := make(chan error, 1)
	if err := d.Handle(t.Context(), record("sms"), func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	for asked := 0; asked < 3; { // it asks again and again
		redis.mu.Lock()
		asked = redis.asked
		redis.mu.Unlock()
	}
	_ = d.Close(context.Background())
	if err := <-done; !errors.Is(err, ErrKept) || len(w.calls) != 0 {
		t.Errorf("done with %v after %v; want the record kept, and no other call", err, w.calls)
	}
}
