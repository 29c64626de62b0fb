package store_test

import (
	"context"
	"maps"
	"testing"

	"pusher/internal/push"
)

// stale makes a sending row whose lease has been over for more than one lease, begun age ago.
func stale(age string, over columns) columns {
	c := columns{"intent_at": "now() - interval '" + age + "'", "lease_until": "now() - interval '31 s'"}
	maps.Copy(c, over)
	return c
}

func TestQ3SweepsStaleSendsByCapability(t *testing.T) {
	t.Parallel()
	for _, c := range []moves{
		{"sms", push.SMS, push.Sending, stale("5 min", nil), "unknown(1) 0"},
		{"sms, retries used up", push.SMS, push.Sending, stale("5 min", columns{"retries_used": "5"}), "unknown(1) 5"},
		{"in-app", push.Notify, push.Sending, stale("5 min", nil), "queued(2) 1"},
		{"in-app, retries used up", push.Notify, push.Sending, stale("5 min", columns{"retries_used": "5"}), "dead(1) 5 letter"},
		{"wechat inside the window", push.WeChat, push.Sending, stale("8 min", nil), "queued(2) 1 ambiguous"},
		{"wechat, window over", push.WeChat, push.Sending, stale("10 min", nil), "unknown(1) 0 ambiguous"},
		{"wechat, window over since the first attempt", push.WeChat, push.Sending,
			stale("2 min", columns{"attempt": "2", "ambiguous_since": "now() - interval '10 min'"}), "unknown(2) 0 ambiguous"},
		{"wechat, retries used up", push.WeChat, push.Sending, stale("2 min", columns{"retries_used": "5"}), "unknown(1) 5 ambiguous"},
		{"lease running", push.SMS, push.Sending, nil, "sending(1) 0"},
		{"lease over, not yet by one more", push.SMS, push.Sending,
			columns{"lease_until": "now() - interval '29 s'"}, "sending(1) 0"},
		{"an action of tomorrow is opaque", "carrier_pigeon", push.Sending, stale("5 min", nil), "unknown(1) 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			id := r.put(t, c.action, c.status, c.over)
			if _, _, err := r.SweepStale(context.Background(), 10, policy()); err != nil {
				t.Fatal(err)
			}
			r.must(t, id, c.want, stands, "retries_used", flag("ambiguous", "ambiguous_since IS NOT NULL"), flag("letter", "letter_due"))
		})
	}
}

func TestQ3CountsByOutcome(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	r.put(t, push.SMS, push.Sending, stale("5 min", nil))
	r.put(t, push.WeChat, push.Sending, stale("10 min", nil))
	queued := r.put(t, push.Notify, push.Sending, stale("5 min", nil))
	r.put(t, push.Notify, push.Sending, stale("5 min", columns{"retries_used": "5"}))
	pokes, moved, err := r.SweepStale(context.Background(), 10, policy())
	if err != nil {
		t.Fatal(err)
	}
	by := map[push.Status]int{}
	for _, d := range moved {
		by[d.Status]++
	}
	if len(moved) != 3 || by[push.Unknown] != 2 || by[push.Dead] != 1 {
		t.Errorf("moved %+v, want two unknown and one dead", moved)
	}
	if len(pokes) != 1 || pokes[0].ID != queued || pokes[0].Attempt != 2 {
		t.Errorf("pokes %+v, want row %d for attempt 2", pokes, queued)
	}
}

// H13: the owner of a swept SMS may still prove that its own attempt never left, so owner and attempt stay, and the
// sweep itself makes the row no more ambiguous than it was.
func TestQ3LeavesOwnerAndAttemptOfASweptSMS(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Sending, stale("5 min", nil))
	if _, _, err := r.SweepStale(context.Background(), 10, policy()); err != nil {
		t.Fatal(err)
	}
	r.must(t, id, "unknown(1) w1 begun", stands, "owner", flag("ambiguous", "ambiguous_since IS NOT NULL"), flag("begun", "intent_at IS NOT NULL"))
}

func TestQ3FilesALostAttempt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.Notify, push.Sending, stale("5 min", nil))
	if _, _, err := r.SweepStale(context.Background(), 10, policy()); err != nil {
		t.Fatal(err)
	}
	var outcome string
	err := r.db.QueryRow(context.Background(), "SELECT outcome FROM push_attempt WHERE delivery_id = $1 AND attempt = 1", id).Scan(&outcome)
	if err != nil || outcome != "lost" {
		t.Errorf("outcome %q, %v; want lost", outcome, err)
	}
}

func TestQ4RepeatsUnknownWeChatInsideTheWindow(t *testing.T) {
	t.Parallel()
	const left = "now() - interval '1 min'" // the row last moved more than a lease ago
	for _, c := range []moves{
		{"inside the window", push.WeChat, push.Unknown, columns{"updated_at": left}, "queued(2) 1 t"},
		{"a pusher may be at it still", push.WeChat, push.Unknown, nil, "unknown(1) 0 t"},
		{"window over", push.WeChat, push.Unknown, columns{"updated_at": left, "ambiguous_since": "now() - interval '9 min'"}, "unknown(1) 0 t"},
		{"retries used up", push.WeChat, push.Unknown, columns{"updated_at": left, "retries_used": "5"}, "unknown(1) 5 t"},
		{"past expires_at", push.WeChat, push.Unknown, columns{"updated_at": left, "expires_at": "now()"}, "unknown(1) 0 t"},
		{"sms is never repeated", push.SMS, push.Unknown, columns{"updated_at": left}, "unknown(1) 0 t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			id := r.put(t, c.action, c.status, c.over)
			before := r.say(t, id, "ambiguous_since")
			check[[]push.Poke](t)(r.RepeatUnknown(context.Background(), 10, policy()))
			r.must(t, id, c.want, stands, "retries_used", "ambiguous_since = '"+before+"'")
		})
	}
}
