package store_test

import (
	"testing"
	"time"

	"pusher/internal/push"
)

// switchTo asks to go on with the next provider.
func (r rows) switchTo(t *testing.T, row push.Row, c push.Class, next string) push.Row {
	t.Helper()
	return one(t, r.Switch(t.Context(), []push.Switch{{Result: resultOf(row, c), Next: next, Lease: time.Minute}}))
}

func TestP5TheSameClaimGoesOnWithTheNextProvider(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, class := range []push.Class{push.NotSent, push.Throttled, push.Account} {
		row := r.intend(t, "w1", about(class.String()))
		r.do(t, row.ID, "lease_until = now() + interval '1 s'")
		for range 2 { // an answer that got lost: the same statement again
			got := r.switchTo(t, row, class, "tencent")
			says(t, got, "sending(w1,2)")
			if got.Provider != "tencent" || got.RetriesUsed != 0 || got.Ambiguous || got.LeaseLeft < 50*time.Second {
				t.Errorf("%s: the row says %+v, want tencent, no retry used, a new lease", class, got)
			}
		}
		r.must(t, row.ID, "tencent t t t t", "provider, outcome IS NULL, error_code IS NULL, finished_at IS NULL, recipient_full IS NOT NULL")
		if told := r.attempts(t, row); told != "1:"+class.String()+" 2:sending" {
			t.Errorf("timeline %q", told)
		}
		_, list, err := r.Show(t.Context(), row.ID)
		if err != nil || list[0].Provider != "aliyun" || list[0].ErrorCode != "isp.SYSTEM_ERROR" || list[0].FinishedAt.IsZero() {
			t.Errorf("the first attempt is told as %+v (%v)", list[0], err)
		}
		says(t, r.record(t, r.switchTo(t, row, class, "tencent"), push.NotSent), "failed(w1,2)")
		r.must(t, row.ID, "1", "retries_used")
	}
}

func TestP5OnlyWhereNothingIsInDoubt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for name, c := range map[string]struct {
		class push.Class
		set   string // what the row says before
		want  string
	}{
		"ambiguous":                 {push.Ambiguous, "round = 1", "sending(w1,1)"},
		"permanent":                 {push.Permanent, "round = 1", "sending(w1,1)"},
		"accepted":                  {push.Accepted, "round = 1", "sending(w1,1)"},
		"an earlier one in doubt":   {push.NotSent, "ambiguous_since = now()", "sending(w1,1)"},
		"past its time":             {push.NotSent, "expires_at = now()", "sending(w1,1)"},
		"swept":                     {push.NotSent, "status = 'unknown', lease_until = NULL", "unknown(w1,1)"},
		"another owner's":           {push.NotSent, "owner = 'w2'", "sending(w2,1)"},
		"another attempt":           {push.NotSent, "attempt = 3, owner = 'w1'", "sending(w1,3)"},
		"accepted in the meantime":  {push.NotSent, "status = 'sent', sent_at = now(), settled_at = now(), lease_until = NULL, recipient_full = NULL", "sent(w1,1)"},
		"its lease over, untouched": {push.NotSent, "lease_until = now() - interval '1 min'", "sending(w1,2)"},
	} {
		row := r.intend(t, "w1", about(name))
		r.do(t, row.ID, c.set)
		got := r.switchTo(t, row, c.class, "tencent")
		if word(got) != c.want {
			t.Errorf("%s: the row says %s, want %s", name, word(got), c.want)
		}
		if got.Attempt != 2 && got.Provider != "aliyun" {
			t.Errorf("%s: the provider became %s", name, got.Provider)
		}
	}
}

// The texts of an answer go the way of any result's: what PostgreSQL cannot hold is cleaned before.
func TestP5TextsAreCleaned(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	result := resultOf(row, push.NotSent)
	result.Code, result.Message = "a\x00b", "c\x00\xff"
	says(t, one(t, r.Switch(t.Context(), []push.Switch{{Result: result, Next: "tencent", Lease: time.Minute}})), "sending(w1,2)")
	if n := r.count(t, `SELECT count(*) FROM push_attempt WHERE error_code = 'ab' AND error_message = 'c'||U&'\FFFD'`); n != 1 {
		t.Error("the refusal was not kept")
	}
}
