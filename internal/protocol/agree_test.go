package protocol

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// sameRow checks that a statement answered what the model says.
func (w *world) sameRow(got push.Row, want *Row) {
	w.Helper()
	if want == nil {
		if got.Exists() {
			w.Fatalf("answered %s, want no row", short(got))
		}
		return
	}
	if got.Round != want.Round || got.Status != want.Status || got.Attempt != want.Attempt || got.Owner != want.Owner ||
		got.Provider != want.Provider || got.RetriesUsed != want.RetriesUsed || got.Ambiguous == want.AmbiguousSince.IsZero() {
		w.Fatalf("answered %s, want %+v", short(got), *want)
	}
}

// short is an answer without its content and its times.
func short(r push.Row) string {
	return fmt.Sprintf("round %d, %s(%s,%d) by %s, %d retries used, ambiguous %v",
		r.Round, r.Status, r.Owner, r.Attempt, r.Provider, r.RetriesUsed, r.Ambiguous)
}

// stored is a row as PostgreSQL keeps it.
type stored struct {
	Round, Attempt, RetriesUsed                     int
	Status, Owner                                   string
	LetterDue, PossibleDuplicate                    bool
	Intent, Lease, Ambiguous, Due, Settled, Updated *time.Time
	Inbox                                           int
}

func (w *world) stored() []stored {
	w.Helper()
	rows, err := w.db.Query(w.ctx(), `SELECT round, attempt, retries_used, status, coalesce(owner, ''), letter_due,
		possible_duplicate, intent_at, lease_until, ambiguous_since, next_attempt_at, settled_at, updated_at,
		(SELECT count(*) FROM inbox_message WHERE delivery_id = push_log.id) FROM push_log ORDER BY round`)
	w.must(err)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[stored])
	w.must(err)
	return list
}

// check is made after every step: reality is as the model says, and the invariants of docs/protocol.md hold.
func (w *world) check() {
	w.Helper()
	w.inspectKey()
	rows := w.stored()
	if len(rows) != len(w.log.Rows) {
		w.Fatalf("%d rows, want %d", len(rows), len(w.log.Rows))
	}
	for i, got := range rows {
		w.agree(got, *w.log.Rows[i])
		w.invariants(got, w.log.Rows[i])
		w.before[got.Round] = *w.log.Rows[i]
	}
	// (c) a settled key means that a row exists.
	if w.key.State > push.KeyProcessing && len(rows) == 0 {
		w.Fatalf("invariant (c): the key says %v, and there is no row", w.key.State)
	}
}

func (w *world) agree(got stored, want Row) {
	w.Helper()
	if got.Round != want.Round || push.Status(got.Status) != want.Status || got.Attempt != want.Attempt ||
		got.RetriesUsed != want.RetriesUsed || got.Owner != want.Owner || got.LetterDue != want.LetterDue ||
		got.PossibleDuplicate != want.PossibleDuplicate {
		w.Fatalf("the row says %+v, want %+v", got, want)
	}
	for _, at := range []struct {
		name string
		got  *time.Time
		want time.Time
	}{
		{"intent_at", got.Intent, want.IntentAt}, {"lease_until", got.Lease, want.LeaseUntil},
		{"ambiguous_since", got.Ambiguous, want.AmbiguousSince}, {"next_attempt_at", got.Due, want.Due},
		{"settled_at", got.Settled, want.SettledAt}, {"updated_at", got.Updated, want.UpdatedAt},
	} {
		if !w.near(at.got, at.want) {
			w.Fatalf("%s of round %d is %v, want %v (by the model's clock; now %v)", at.name, got.Round, w.shown(at.got), at.want, w.now)
		}
	}
}

// shown is a time of reality by the model's clock, for people.
func (w *world) shown(t *time.Time) any {
	if t == nil {
		return "none"
	}
	return w.modelTime(*t)
}

// invariants (a), (b) and (e) of one round; (d) is that claims are skipped at random, (h) that model and reality agree.
func (w *world) invariants(got stored, r *Row) {
	w.Helper()
	told, open := w.provider.Told(r.Round), w.provider.Open(r.Round)
	if w.action == push.Notify {
		told, open = got.Inbox, got.Inbox > 0
		if open != (r.Status == push.Sent) {
			w.Fatalf("%d inbox messages of a row that is %s", got.Inbox, r.Status)
		}
	}
	if told > 1 && !r.PossibleDuplicate {
		w.Fatalf("invariant (a): the recipient got round %d %d times; the row is %+v", r.Round, told, *r)
	}
	if r.Status == push.Sent && told == 0 {
		w.Fatalf("round %d is sent and nobody got it", r.Round)
	}
	// (i) the row names the provider that took the message; while that is in doubt, the one to ask.
	if w.action != push.Notify && told > 0 && !r.PossibleDuplicate && (r.Status == push.Sent || r.Status == push.Unknown) &&
		!w.provider.Took(r.Round, r.Provider) {
		w.Fatalf("round %d is %s by %s, which took nothing", r.Round, r.Status, r.Provider)
	}
	switch r.Status {
	case push.Failed, push.Deferred, push.Dead, push.Expired:
		if open && !r.UnknownExpired && !r.PossibleDuplicate {
			w.Fatalf("invariant (b): round %d is %s, and a request may be accepted: %+v", r.Round, r.Status, *r)
		}
	}
	before, known := w.before[r.Round]
	if known && (r.Attempt < before.Attempt || before.Status.Settled() && r.Status != before.Status) {
		w.Fatalf("invariant (e): round %d went from %s(%d) to %s(%d)", r.Round, before.Status, before.Attempt, r.Status, r.Attempt)
	}
}
