package dedup

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestTheClientsOwnRetriesChangeNothing(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		client.AddHook(twice{})
		s := newShop(t, client, nil)
		for id, want := range map[string]error{"done": nil, "refused": Refuse(errBroken), "back": errBroken, "doubt": Doubt(errBroken)} {
			if _, err := s.Do(t.Context(), order{id, "tea"}, sell("sold", want)); !errors.Is(err, want) {
				t.Errorf("%s: %v", id, err)
			}
		}
		if got := s.outcomes(); slices.Contains(got, Lost) || slices.Contains(got, Unsettled) {
			t.Errorf("observed %v", got)
		}
		one := newShop(t, client, func(c *GuardConfig[order, string]) { c.Name, c.IssuedOnly, c.DeleteOnSuccess = "one", true, true })
		if err := one.Issue(t.Context(), "1", time.Minute); err != nil {
			t.Fatal(err)
		}
		if _, err := one.Do(t.Context(), order{"1", "tea"}, sell("sold", nil)); err != nil || one.outcomes()[0] != Done {
			t.Errorf("%v", err)
		}
	})
}

func TestGuardInACluster(t *testing.T) {
	t.Parallel()
	s := newShop(t, startCluster(t), nil)
	orders := make([]order, 50)
	for i := range orders {
		orders[i] = order{strconv.Itoa(i), "tea"}
	}
	for round := range 2 {
		ran := 0
		s.DoAll(t.Context(), orders, func(_ context.Context, mine []int, _ []Result[string]) { ran = len(mine) })
		if ran != 50*(1-round) {
			t.Errorf("round %d: %d ran", round, ran)
		}
	}
}

func TestForeignKeysAreReplacedByACall(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		s := newShop(t, client, nil)
		client.Set(t.Context(), s.key("text"), "1", 0)
		client.HSet(t.Context(), s.key("hash"), "s", "1")
		client.Set(t.Context(), s.key("strange state"), "9 o   \n", 0)
		client.Set(t.Context(), s.key("cut"), "1 o ", 0)
		client.Set(t.Context(), s.key("held by nobody"), "0  99999999999999  \n", 0)
		for _, id := range []string{"text", "hash", "strange state", "cut", "held by nobody"} {
			if _, err := s.Do(t.Context(), order{id, "tea"}, sell("sold", nil)); err != nil || s.state(t, id) != "1" {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}

func TestPayloadsOfAnyTextAreToldApart(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		payloads := []string{"green tea", "green\ntea", "green%20tea", "\xff", strings.Repeat("tea ", 1000), strings.Repeat("tea ", 1001)}
		for i, id := range payloads {
			s := newShop(t, client, func(c *GuardConfig[order, string]) { c.Name = strconv.Itoa(i) })
			if _, err := s.Do(t.Context(), order{"1", id}, sell("sold", nil)); err != nil {
				t.Errorf("%q: %v", id, err)
			}
			for _, other := range payloads {
				want := ErrMismatch
				if other == id {
					want = ErrRepeated
				}
				if _, err := s.Do(t.Context(), order{"1", other}, sell("", nil)); !errors.Is(err, want) {
					t.Errorf("%q after %q: %v", other, id, err)
				}
			}
		}
	})
}

func TestGuardsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	key := func(order) (string, error) { return "1", nil }
	for name, cfg := range map[string]GuardConfig[order, string]{
		"no name":     {Key: key, Lease: lease, Window: window},
		"no key":      {Name: "x", Lease: lease, Window: window},
		"no lease":    {Name: "x", Key: key, Window: window},
		"no window":   {Name: "x", Key: key, Lease: lease},
		"half a code": {Name: "x", Key: key, Lease: lease, Window: window, Encode: func(string) ([]byte, error) { return nil, nil }},
	} {
		if _, err := NewGuard(nil, cfg); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
