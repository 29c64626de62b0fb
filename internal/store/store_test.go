package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

func TestOpenNamesTheServerThatIsAwayAndNoPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://pusher:s3cret@127.0.0.1:1/push", // nobody listens
		"postgres://pusher:s3cret@127.0.0.1:1/push?pool_max_conns=none",
	} {
		_, err := store.Open(t.Context(), store.Config{URL: url})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("opening %s: %v", url, err)
		}
	}
	_, err := store.Open(t.Context(), store.Config{URL: "postgres://pusher@127.0.0.1:1/push"})
	if err == nil || !strings.Contains(err.Error(), "connecting to postgres 127.0.0.1:1/push") {
		t.Errorf("the address is not in: %v", err)
	}
}

func TestPingTellsWhenTheServerIsGone(t *testing.T) {
	t.Parallel()
	r, l := overLossy(t)
	if err := r.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.loseRequest.Store(true)
	_ = l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := r.Ping(ctx); err == nil {
		t.Error("no word of a server that is gone")
	}
}

func TestCheckFindsWhatWouldBreakThePromises(t *testing.T) {
	t.Parallel()
	url := testbed.Postgres(t)
	if err := at(t, url, "").Check(t.Context()); err != nil {
		t.Errorf("a usual server: %v", err)
	}
	for setting, word := range map[string]string{
		"synchronous_commit%3Doff":                            "synchronous_commit is off",
		"default_transaction_isolation%3Drepeatable\\%20read": "read committed",
	} {
		err := at(t, url+separator(url)+"options=-c%20"+setting, "").Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func separator(url string) string {
	if strings.Contains(url, "?") {
		return "&"
	}
	return "?"
}

// Field report 24: behind a transaction pooler no prepared statement may be relied on; the mode is the URL's choice.
func TestFieldReport24_EveryModeOfExecutionWorks(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			url := testbed.Postgres(t)
			r := at(t, url+separator(url)+"default_query_exec_mode="+mode, "")
			row := r.record(t, r.intend(t, "w1", of(push.WeChat)), push.Ambiguous)
			row = one(t, r.Repeat(t.Context(), []push.Held{heldBy(row)}))
			row = r.record(t, row, push.Accepted)
			says(t, row, "sent(w1,2)")
			inbox := r.intend(t, "w1", of(push.Notify))
			accepted := resultOf(inbox, push.Accepted)
			accepted.Inbox = &push.Inbox{UserID: "u1", Title: "t", Data: []byte(`{}`)}
			says(t, one(t, r.Record(t.Context(), []push.Result{accepted})), "sent(w1,1)")
			if renewed := r.Renew(t.Context(), []push.Held{heldBy(inbox)}); renewed[0].Err != nil || renewed[0].Mine {
				t.Errorf("renewed: %+v", renewed)
			}
			if looked := r.Look(t.Context(), []push.Lookup{{Identity: intend("").Delivery.Identity}}); looked[0].Err != nil {
				t.Error(looked[0].Err)
			}
			if list, err := r.List(t.Context(), push.Filter{Statuses: []push.Status{push.Sent}}, 0, 0); err != nil || len(list.Entries) != 2 {
				t.Errorf("list: %v, %v", list, err)
			}
			prepared := r.count(t, "SELECT count(*) FROM pg_prepared_statements")
			if mode == "exec" && prepared != 0 {
				t.Errorf("%d prepared statements are left at the server", prepared)
			}
		})
	}
}
