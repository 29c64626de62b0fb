package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// row is what the push log says of a delivery.
type row struct {
	id       int64
	round    int
	status   push.Status
	provider string
	attempt  int
	letter   bool          // a dead letter is still to be written
	inDoubt  bool          // some attempt may have been accepted
	doubt    time.Duration // since the first of these
}

// which names a delivery.
type which struct {
	id     string
	action push.Action
}

// identity is the delivery as the product names it.
func (w which) identity() push.Identity {
	return push.Identity{BizType: bizType, RuleVersion: "v1", DedupID: w.id, Action: w.action}
}

// judge compares what was written with what the providers accepted, what is in the inbox, and what the log says.
func (r *run) judge(ctx context.Context) (*verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	inbox, err := r.world.inbox(ctx)
	if err != nil {
		return nil, err
	}
	rows, all, err := r.world.rows(ctx)
	if err != nil {
		return nil, err
	}
	v := newVerdict(r)
	if v.lag, err = r.world.kafka.lag(ctx); err != nil {
		return nil, err
	}
	if v.immortal, err = r.world.immortal(ctx); err != nil {
		return nil, err
	}
	journal := r.world.sandbox.Journal()
	v.extra = all + journal.Total("") + sum(inbox) // rows and messages that no event asked for: what remains of all
	for _, e := range r.author.events {
		for action, want := range e.want {
			w := which{e.id, action}
			accepted := journal.Count(w.identity().Reference(1))
			if action == push.Notify {
				accepted = inbox[e.user()]
			}
			v.count(w, want, rows[w], accepted)
			v.extra -= accepted
		}
	}
	v.extra -= v.deliveries - v.missing
	return v, nil
}

// rows reads the whole log, and counts its rows.
func (w *world) rows(ctx context.Context) (by map[which]row, all int, err error) {
	rows, err := w.log.Query(ctx, `SELECT dedup_id, action, id, round, status, coalesce(provider, ''), attempt, letter_due,
		ambiguous_since IS NOT NULL, coalesce(now() - coalesce(ambiguous_since, intent_at), interval '0') FROM push_log ORDER BY round`)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the push log: %w", err)
	}
	by = map[which]row{}
	var at which
	var one row
	targets := []any{
		&at.id, &at.action, &one.id, &one.round, &one.status, &one.provider, &one.attempt, &one.letter, &one.inDoubt, &one.doubt,
	}
	_, err = pgx.ForEachRow(rows, targets, func() error {
		all++
		if one.round == 1 {
			by[at] = one
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading the push log: %w", err)
	}
	return by, all, nil
}

// inbox counts the in-app messages of each user; every event has a user of its own.
func (w *world) inbox(ctx context.Context) (map[string]int, error) {
	rows, err := w.log.Query(ctx, `SELECT user_id, count(*) FROM inbox_message GROUP BY user_id`)
	if err != nil {
		return nil, fmt.Errorf("reading the inbox: %w", err)
	}
	counts := map[string]int{}
	var user string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&user, &n}, func() error { counts[user] = n; return nil }); err != nil {
		return nil, fmt.Errorf("reading the inbox: %w", err)
	}
	return counts, nil
}

// immortal counts the keys that Redis would keep for ever.
func (w *world) immortal(ctx context.Context) (int, error) {
	n := 0
	each := w.keys.Scan(ctx, 0, "*", 1000).Iterator()
	pipe := w.keys.Pipeline()
	for each.Next(ctx) {
		pipe.TTL(ctx, each.Val())
	}
	if err := each.Err(); err != nil {
		return 0, fmt.Errorf("reading the keys: %w", err)
	}
	answers, err := pipe.Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the keys' time to live: %w", err)
	}
	for _, a := range answers {
		if ttl, ok := a.(interface{ Val() time.Duration }); ok && ttl.Val() == -1 {
			n++
		}
	}
	return n, nil
}

// repeats reports whether the row is on its way through the repeats of a send that may have been accepted and that WeChat
// now refuses for good: until the window is over, since no refusal takes the doubt away.
func (o row) repeats(w which, want push.Status) bool {
	return w.action == push.WeChat && want != push.Sent && o.inDoubt && o.doubt < resendWithin && !o.status.Settled()
}

// canBeTold reports whether the provider can still say what became of a send that is unknown: Aliyun knows what it
// accepted, and WeChat takes a repeat inside its window.
func (o row) canBeTold(w which, want push.Status, accepted int) bool {
	switch w.action {
	case push.WeChat:
		return want == push.Sent && o.doubt < resendWithin
	case push.SMS:
		return o.provider == provider.Aliyun && accepted > 0
	default:
		return true
	}
}
