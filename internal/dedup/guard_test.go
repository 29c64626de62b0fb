package dedup

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// order is the input of the guarded calls of these tests.
type order struct {
	ID   string
	What string
}

// shop is a guard with all that it saw.
type shop struct {
	*Guard[order, string]

	client redis.UniversalClient

	mu   sync.Mutex
	seen []Outcome // guarded by mu
}

func newShop(t testing.TB, client redis.UniversalClient, change func(*GuardConfig[order, string])) *shop {
	t.Helper()
	s := &shop{client: client}
	cfg := GuardConfig[order, string]{
		Name: "orders", Key: func(o order) (string, error) { return o.ID, nil },
		Fingerprint: func(o order) (string, error) { return o.What, nil },
		Window:      window, Lease: lease, MaxAnswer: 100,
		Observe: func(o Outcome) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.seen = append(s.seen, o)
		},
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if s.Guard, err = NewGuard(client, cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

// outcomes are those since the last look.
func (s *shop) outcomes() []Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// state is what the key of an order says, and whether it has a life that ends.
func (s *shop) state(t testing.TB, id string) string {
	t.Helper()
	text, err := s.client.Get(t.Context(), s.key(id)).Result()
	if errors.Is(err, redis.Nil) {
		return "absent"
	}
	if err != nil {
		t.Fatal(err)
	}
	if ttl := s.client.PTTL(t.Context(), s.key(id)).Val(); ttl <= 0 {
		t.Errorf("%s lives for %v", id, ttl)
	}
	return text[:1]
}

// The places of a key's fields.
const (
	atOwner = 1
	atLease = 2
)

// set changes a field of an order's key.
func (s *shop) set(t testing.TB, id string, field int, value string) {
	t.Helper()
	text, err := s.client.Get(t.Context(), s.key(id)).Result()
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(text, "\n")
	fields := strings.Split(head, " ")
	fields[field] = value
	s.client.Set(t.Context(), s.key(id), strings.Join(fields, " ")+"\n"+rest, redis.KeepTTL)
}

// end moves the end of an order's lease into the past.
func (s *shop) end(t testing.TB, id string) {
	t.Helper()
	s.set(t, id, atLease, "1")
}

func sell(answer string, err error) func(context.Context, order) (string, error) {
	return func(context.Context, order) (string, error) { return answer, err }
}

var errBroken = errors.New("broken")

// TestEveryEndOfAHandler: what the handler does, what the key says then, and what the same and another payload meet
// next: at once, and after the lease.
func TestEveryEndOfAHandler(t *testing.T) {
	t.Parallel()
	const granted = "granted"
	meets := func(s *shop, what string) string {
		_, err := s.Do(t.Context(), order{"1", what}, sell("", NotDone(errBroken)))
		for _, e := range []error{ErrRepeated, ErrInProgress, ErrMismatch, ErrSpent} {
			if errors.Is(err, e) {
				return e.Error()
			}
		}
		return granted
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	t.Cleanup(cancel)
	tests := []struct {
		name    string
		open    bool
		handle  func(context.Context, order) (string, error)
		outcome Outcome
		state   string
		same    string
		other   string
		later   string // the same payload after the lease
	}{
		{"succeeds", false, sell("sold", nil), Done, "1", ErrRepeated.Error(), ErrMismatch.Error(), ErrRepeated.Error()},
		{"refuses", false, sell("", Refuse(errBroken)), Refused, "2", granted, ErrMismatch.Error(), granted},
		{"fails", false, sell("", errBroken), GivenBack, "absent", granted, granted, granted},
		{"panics", false, func(context.Context, order) (string, error) { panic("out of stock") }, GivenBack, "absent", granted, granted, granted},
		{"does not know", false, sell("", Doubt(errBroken)), Unknown, "3", ErrInProgress.Error(), ErrMismatch.Error(), granted},
		{"times out", false, sell("", fmt.Errorf("paying: %w", late.Err())), Unknown, "3", ErrInProgress.Error(), ErrMismatch.Error(), granted},
		{"times out, and knows that nothing left", false, sell("", NotDone(late.Err())), GivenBack, "absent", granted, granted, granted},
		{"does not know, repeats are caught", true, sell("", Doubt(errBroken)), Unknown, "3", granted, ErrMismatch.Error(), granted},
	}
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		for _, tt := range tests {
			s := newShop(t, client, func(c *GuardConfig[order, string]) { c.Name, c.OpenUnknown = tt.name, tt.open })
			func() {
				defer func() {
					if p := recover(); (p != nil) != (tt.name == "panics") {
						t.Errorf("%s: recovered %v", tt.name, p)
					}
				}()
				answer, err := s.Do(t.Context(), order{"1", "tea"}, tt.handle)
				if (err == nil) != (tt.outcome == Done) || err == nil && answer != "sold" {
					t.Errorf("%s: %q %v", tt.name, answer, err)
				}
			}()
			if got := s.outcomes(); !slices.Equal(got, []Outcome{tt.outcome}) {
				t.Errorf("%s: observed %v", tt.name, got)
			}
			if got := s.state(t, "1"); got != tt.state {
				t.Errorf("%s: the key says %s, want %s", tt.name, got, tt.state)
			}
			if got := meets(s, "wine"); got != tt.other {
				t.Errorf("%s: another payload meets %q", tt.name, got)
			}
			if got := meets(s, "tea"); got != tt.same {
				t.Errorf("%s: the same payload meets %q", tt.name, got)
			}
			if s.state(t, "1") != "absent" {
				s.end(t, "1")
			}
			if got := meets(s, "tea"); got != tt.later {
				t.Errorf("%s: after the lease the same payload meets %q", tt.name, got)
			}
		}
	})
}

func TestARepeatedCallGetsTheKeptAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, answer string
		most         int
		kept         bool
	}{
		{"small", "sold", 100, true},
		{"binary", "\x00\xff", 100, true},
		{"empty", "", 100, true},
		{"too large", strings.Repeat("x", 101), 100, false},
		{"none is kept", "sold", 0, false},
	}
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		for _, tt := range tests {
			s := newShop(t, client, func(c *GuardConfig[order, string]) {
				c.Name, c.MaxAnswer = tt.name, tt.most
				c.Encode = func(out string) ([]byte, error) { return []byte(out), nil }
				c.Decode = func(text []byte) (string, error) { return string(text), nil }
			})
			_, _ = s.Do(t.Context(), order{"1", "tea"}, sell(tt.answer, nil))
			got, err := s.Do(t.Context(), order{"1", "tea"}, sell("sold again", nil))
			var again *RepeatedError
			if !errors.As(err, &again) || again.Kept != tt.kept || tt.kept && got != tt.answer || !tt.kept && got != "" {
				t.Errorf("%s: %q %+v", tt.name, got, err)
			}
		}
	})
}

func TestAnAnswerThatCannotBeReadCountsAsNotKept(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Addrs: []string{startRedis(t).addr}})
	s := newShop(t, client, nil)
	_, _ = s.Do(t.Context(), order{"1", "tea"}, sell("sold", nil))
	text := client.Get(t.Context(), s.key("1")).Val()
	client.Set(t.Context(), s.key("1"), strings.Replace(text, `="sold"`, "={", 1), redis.KeepTTL)
	var again *RepeatedError
	if _, err := s.Do(t.Context(), order{"1", "tea"}, sell("", nil)); !errors.As(err, &again) || again.Kept {
		t.Errorf("got %v", err)
	}
}

func TestInProgressSaysForHowLongAndWhetherItIsInDoubt(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		s := newShop(t, client, nil)
		busy := func() *InProgressError {
			var e *InProgressError
			_, err := s.Do(t.Context(), order{"1", "tea"}, sell("", nil))
			if !errors.As(err, &e) || e.Left <= lease/2 || e.Left > lease {
				t.Fatalf("got %+v", err)
			}
			return e
		}
		_, _ = s.Do(t.Context(), order{"1", "tea"}, func(context.Context, order) (string, error) {
			if busy().Unknown {
				t.Error("a running call is in doubt")
			}
			return "", Doubt(errBroken)
		})
		if !busy().Unknown {
			t.Error("the unknown outcome is not told apart")
		}
	})
}

func TestWhatWasInDoubtStaysSoWhenALaterCallIsGivenBack(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		s := newShop(t, client, nil)
		_, _ = s.Do(t.Context(), order{"1", "tea"}, sell("", Doubt(errBroken)))
		s.end(t, "1")
		_, _ = s.Do(t.Context(), order{"1", "tea"}, sell("", errBroken))
		if got := s.state(t, "1"); got != "3" {
			t.Errorf("the key says %s", got)
		}
		if _, err := s.Do(t.Context(), order{"1", "wine"}, sell("", nil)); !errors.Is(err, ErrMismatch) {
			t.Errorf("another payload got %v", err)
		}
		if _, err := s.Do(t.Context(), order{"1", "tea"}, sell("", nil)); err != nil {
			t.Errorf("the same payload got %v", err)
		}
	})
}

func TestOneTimeKeys(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		s := newShop(t, client, func(c *GuardConfig[order, string]) {
			c.IssuedOnly, c.DeleteOnSuccess, c.Window = true, true, 0
		})
		tea := order{"1", "tea"}
		spent := func(when string) {
			if _, err := s.Do(t.Context(), tea, sell("", nil)); !errors.Is(err, ErrSpent) {
				t.Errorf("%s: %v", when, err)
			}
		}
		spent("never issued")
		for range 2 {
			if err := s.Issue(t.Context(), "1", time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = s.Do(t.Context(), tea, sell("", errBroken)) // given back: still issued, for any payload
		if got := s.state(t, "1"); got != "5" {
			t.Errorf("given back, the key says %s", got)
		}
		if answer, err := s.Do(t.Context(), order{"1", "wine"}, sell("sold", nil)); err != nil || answer != "sold" {
			t.Errorf("%q %v", answer, err)
		}
		if got := s.state(t, "1"); got != "absent" {
			t.Errorf("used, the key says %s", got)
		}
		spent("used")
	})
}

func TestATokenLivesNoLongerThanItWasIssuedFor(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		s := newShop(t, client, func(c *GuardConfig[order, string]) { c.IssuedOnly, c.DeleteOnSuccess = true, true })
		for id, end := range map[string]error{"given back": errBroken, "refused": Refuse(errBroken), "in doubt": Doubt(errBroken)} {
			if err := s.Issue(t.Context(), id, 10*time.Minute); err != nil {
				t.Fatal(err)
			}
			_, _ = s.Do(t.Context(), order{id, "tea"}, sell("", end))
			if ttl := client.PTTL(t.Context(), s.key(id)).Val(); ttl <= 9*time.Minute || ttl > 10*time.Minute {
				t.Errorf("%s: lives for %v", id, ttl)
			}
		}
		if err := s.Issue(t.Context(), "in doubt", time.Minute); err == nil {
			t.Error("issued over a claim")
		}
	})
}

func TestAHundredCallsAtOnceRunTheHandlerOnce(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		s := newShop(t, client, nil)
		var ran, won atomic.Int32
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				answer, err := s.Do(t.Context(), order{"1", "tea"}, func(context.Context, order) (string, error) {
					ran.Add(1)
					return "sold", nil
				})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, ErrInProgress) && (!errors.Is(err, ErrRepeated) || answer != "sold"):
					t.Errorf("%q %v", answer, err)
				}
			})
		}
		all.Wait()
		if ran.Load() != 1 || won.Load() != 1 {
			t.Errorf("ran %d times, %d won", ran.Load(), won.Load())
		}
	})
}

func TestManyCallsAreClaimedAndSettledEachByItself(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		s := newShop(t, client, nil)
		_, _ = s.Do(t.Context(), order{"done", "tea"}, sell("sold", nil))
		s.outcomes()
		orders := []order{{"a", "tea"}, {"done", "tea"}, {"", "tea"}, {"done", "wine"}, {"b", "tea"}, {"c", "tea"}, {"a", "tea"}}
		results := s.DoAll(t.Context(), orders, func(_ context.Context, mine []int, results []Result[string]) {
			if !slices.Equal(mine, []int{0, 4, 5}) || !errors.Is(results[1].Err, ErrRepeated) {
				t.Errorf("mine %v of %+v", mine, results)
			}
			results[0].Value, results[4].Err, results[5].Err = "sold", errBroken, Refuse(errBroken)
		})
		wants := []error{nil, ErrRepeated, errKey, ErrMismatch, errBroken, errBroken, ErrInProgress}
		for i, want := range wants {
			if !errors.Is(results[i].Err, want) {
				t.Errorf("%d: %v", i, results[i].Err)
			}
		}
		for id, want := range map[string]string{"a": "1", "b": "absent", "c": "2"} {
			if got := s.state(t, id); got != want {
				t.Errorf("%s says %s", id, got)
			}
		}
		wantSeen := []Outcome{Repeated, Mismatch, InProgress, Done, Refused, GivenBack}
		if got := s.outcomes(); !reflect.DeepEqual(got, wantSeen) {
			t.Errorf("observed %v", got)
		}
	})
}
