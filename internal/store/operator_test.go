package store_test

import (
	"reflect"
	"slices"
	"testing"

	"pusher/internal/push"
)

// act begins an act of an operator.
func (r rows) act(t *testing.T, verb push.Verb) int64 {
	t.Helper()
	return check[int64](t)(r.Begin(t.Context(), push.Deeds{
		Actor: "ada", Role: "cli", Verb: string(verb), Reason: "template mended", Filter: "status=dead",
		Counts: map[string]int{"would_send": 1}, Matching: 1,
	}))
}

// move does one deed to a row as it stands.
func (r rows) move(t *testing.T, verb push.Verb, id int64) []push.Moved {
	t.Helper()
	e, _, err := r.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return check[[]push.Moved](t)(r.Move(t.Context(), r.act(t, verb), verb, []push.Deed{{ID: id, Status: e.Status, Attempt: e.Attempt}}))
}

func TestO1MovesWhatTheVerbIsForAndNothingElse(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	doubtful := columns{"error_code": "'unknown_expired'"}
	over := columns{"expires_at": "now() - interval '1 s'"}
	erased := columns{"recipient_full": "NULL"}
	marked := columns{"possible_duplicate": "true"}
	cases := map[string]struct {
		verb   push.Verb
		status push.Status
		over   columns
		want   string // status, attempt, possible_duplicate
	}{
		"dead":                 {push.Requeue, push.Dead, nil, "queued 2 f"},
		"failed":               {push.Requeue, push.Failed, nil, "queued 2 f"},
		"dead, in doubt":       {push.Requeue, push.Dead, doubtful, "dead 1 f"},
		"dead, resent before":  {push.Requeue, push.Dead, marked, "dead 1 t"},
		"dead, expired":        {push.Requeue, push.Dead, over, "dead 1 f"},
		"dead, erased":         {push.Requeue, push.Dead, erased, "dead 1 f"},
		"unknown":              {push.Requeue, push.Unknown, nil, "unknown 1 f"},
		"sent":                 {push.Requeue, push.Sent, nil, "sent 1 f"},
		"deferred":             {push.Requeue, push.Deferred, nil, "deferred 0 f"},
		"queued":               {push.Requeue, push.Queued, nil, "queued 2 f"},
		"sending":              {push.ResolveResend, push.Sending, nil, "sending 1 f"},
		"was sent":             {push.ResolveSent, push.Unknown, nil, "sent 1 f"},
		"dead was sent":        {push.ResolveSent, push.Dead, doubtful, "dead 1 f"},
		"was not sent":         {push.ResolveNotSent, push.Unknown, nil, "queued 2 f"},
		"was not sent, marked": {push.ResolveNotSent, push.Unknown, marked, "queued 2 f"},
		"was not sent, late":   {push.ResolveNotSent, push.Unknown, over, "queued 2 f"},
		"given up, not sent":   {push.ResolveNotSent, push.Dead, doubtful, "queued 2 f"},
		"dead is no doubt":     {push.ResolveNotSent, push.Dead, nil, "dead 1 f"},
		"resend":               {push.ResolveResend, push.Unknown, nil, "queued 2 t"},
		"resend, late":         {push.ResolveResend, push.Unknown, over, "unknown 1 f"},
		"resend, given up":     {push.ResolveResend, push.Dead, doubtful, "queued 2 t"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := r.put(t, push.SMS, c.status, c.over)
			before := r.say(t, id, "status", "attempt")
			moved := r.move(t, c.verb, id)
			r.must(t, id, c.want, "status", "attempt", "possible_duplicate::text::char")
			if changed := r.say(t, id, "status", "attempt") != before; changed != (len(moved) == 1) {
				t.Errorf("changed: %v, told of %d", changed, len(moved))
			}
		})
	}
}

func TestO1ReopenedRowStartsAfreshAndItsPokeCarriesAll(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Dead, columns{"retries_used": "5"})
	moved := r.move(t, push.Requeue, id)
	if len(moved) != 1 || !moved[0].Queued || moved[0].Attempt != 2 || moved[0].Recipient != "+8613800138000" || len(moved[0].Event) == 0 {
		t.Fatalf("got %+v", moved)
	}
	r.must(t, id, "queued 0", "status", "retries_used", flag("settled", "settled_at IS NOT NULL"),
		flag("letter", "letter_due"), flag("doubt", "ambiguous_since IS NOT NULL"), flag("error", "error_code IS NOT NULL"),
		flag("published", "published_at IS NOT NULL"))
	if got := r.count(t, "SELECT count(*) FROM push_attempt WHERE delivery_id = $1 AND error_code = 'isv.MOBILE_NUMBER_ILLEGAL'", id); got != 1 {
		t.Errorf("%d attempts are filed with their error", got)
	}
	pokes := check[[]push.Poke](t)(r.Unpublished(t.Context(), 10, 0)) // rule Q2: should nobody publish it
	if !slices.Equal(ids(pokes), []int64{id}) {
		t.Errorf("the compensator would publish %v", ids(pokes))
	}
}

func TestP1ByAnOperatorsWordSettlesAndErases(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Unknown, nil)
	if moved := r.move(t, push.ResolveSent, id); len(moved) != 1 || moved[0].Queued {
		t.Fatalf("got %+v", moved)
	}
	r.must(t, id, "sent accepted settled sent", "status", "outcome", flag("settled", "settled_at IS NOT NULL"),
		flag("sent", "sent_at IS NOT NULL"), flag("recipient", "recipient_full IS NOT NULL"))
}

func TestO1LeavesAloneWhatChangedOrWasOvertaken(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	stale := r.put(t, push.SMS, push.Dead, nil)
	deeds := []push.Deed{{ID: stale, Status: push.Unknown, Attempt: 1}, {ID: stale, Status: push.Dead, Attempt: 2}, {ID: stale + 1000, Status: push.Dead, Attempt: 1}}
	for _, d := range deeds {
		if moved := check[[]push.Moved](t)(r.Move(t.Context(), r.act(t, push.Requeue), push.Requeue, []push.Deed{d})); len(moved) != 0 {
			t.Errorf("%+v moved", d)
		}
	}
	old := r.put(t, push.SMS, push.Dead, columns{"dedup_id": "'77'"})
	r.put(t, push.SMS, push.Failed, columns{"dedup_id": "'77'", "round": "2"})
	if moved := r.move(t, push.Requeue, old); len(moved) != 0 {
		t.Error("a row with a later round was reopened")
	}
	list, _, err := r.Candidates(t.Context(), push.Filter{IDs: []int64{old}}, 0, 0)
	if err != nil || len(list) != 1 || !list[0].Overtaken || !list[0].RecipientKept {
		t.Errorf("candidates %+v, %v", list, err)
	}
}

func TestDeedsAreKeptWithWhoAndWhy(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Dead, nil)
	action := r.act(t, push.Requeue)
	check[[]push.Moved](t)(r.Move(t.Context(), action, push.Requeue, []push.Deed{{ID: id, Status: push.Dead, Attempt: 1}}))
	if err := r.Finish(t.Context(), action, 1); err != nil {
		t.Fatal(err)
	}
	all := check[[]push.Deeds](t)(r.Actions(t.Context(), 0, 10))
	on := check[[]push.Done](t)(r.ActionsOn(t.Context(), id))
	if len(all) != 1 || len(on) != 1 || !reflect.DeepEqual(all[0], on[0].Deeds) || on[0].Was != push.Dead || on[0].Attempt != 1 {
		t.Fatalf("all %+v, on it %+v", all, on)
	}
	got := all[0]
	if got.Actor != "ada" || got.Reason != "template mended" || got.Changed != 1 || got.FinishedAt.IsZero() || got.Counts["would_send"] != 1 {
		t.Errorf("got %+v", got)
	}
	if older := check[[]push.Deeds](t)(r.Actions(t.Context(), got.ID, 10)); len(older) != 0 {
		t.Errorf("before the first: %+v", older)
	}
}
