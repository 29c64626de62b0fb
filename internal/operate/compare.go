package operate

import (
	"context"
	"fmt"

	"pusher/internal/push"
)

// compare looks up the deliveries in hand: row, key, provider.
func (a *audit) compare(ctx context.Context) error {
	batch := a.batch
	a.batch = a.batch[:0:0]
	a.report.Deliveries += len(batch)
	if len(batch) == 0 {
		return nil
	}
	lookups := make([]push.Lookup, len(batch))
	keys := make([]Key, len(batch))
	for i, d := range batch { // each key before its row, as rule Q8 has it
		lookups[i] = push.Lookup{Identity: d.Identity}
		if a.Keys == nil {
			continue
		}
		k, err := a.Keys.Look(ctx, d.Key())
		if err != nil {
			return err
		}
		keys[i] = k
	}
	for i, answer := range a.Ledger.Look(ctx, lookups) {
		if answer.Err != nil {
			return answer.Err
		}
		a.row(batch[i], answer.Row)
		first := !a.keys[batch[i].Key()]
		a.keys[batch[i].Key()] = true
		if a.Keys != nil && first {
			a.key(batch[i], answer.Row, keys[i])
		}
		if a.Counter != nil && first && batch[i].Action == push.SMS {
			if err := a.ask(ctx, batch[i], answer.Row); err != nil {
				return err
			}
		}
	}
	return nil
}

// row reports whether a committed record's delivery has the row that it must have (invariants c and g).
func (a *audit) row(d expected, row push.Row) {
	news := row.Status.Settled() && d.Origin.Time.After(row.SettledAt.Add(d.Window))
	switch {
	case !row.Exists():
		a.gap(Finding{Kind: KindNoRow, Where: d.where, Key: d.Key(), Says: "committed, and the push log has no row"})
	case news:
		a.gap(Finding{
			Kind: KindNoRow, Where: d.where, Key: d.Key(),
			Says: fmt.Sprintf("committed, and later than the window of round %d, and no next round was opened", row.Round),
		})
	}
}

// key compares a dedup key with its row.
func (a *audit) key(d expected, row push.Row, k Key) {
	a.report.Keys++
	f := Finding{Where: d.where, Key: d.Key()}
	settled := k.State != push.KeyAbsent && k.State != push.KeyProcessing
	want := row.Settlement()
	switch {
	case k.State == push.KeyAbsent:
	case k.TTL == 0:
		f.Kind, f.Says = KindImmortal, "Redis keeps the key for ever"
		a.gap(f)
	case settled && !row.Exists():
		f.Kind, f.Says = KindKeyNoRow, "the key says "+k.State.String()+", and the push log has no row"
		a.gap(f)
	case settled && row.Status != push.Sending && (k.State != want.State || want.State == push.KeyFailed && k.Attempt != want.Attempt) &&
		a.cfg.Now().Sub(row.UpdatedAt) > a.cfg.Settled:
		f.Kind = KindKey
		f.Says = fmt.Sprintf("the key says %s(%d), the row %s(%d)", k.State, k.Attempt, row.Status, row.Attempt)
		a.report.Notes = append(a.report.Notes, f)
	}
}

// ask compares a row with what its provider took under the delivery's reference.
func (a *audit) ask(ctx context.Context, d expected, row push.Row) error {
	phone, bad := push.NormalizePhone(d.Event.Recipient.Phone, a.cfg.Region)
	if bad != nil || !row.Exists() { // never sent, or a gap already
		return nil //nolint:nilerr // a phone that is no number is skipped by rule, and no failure of the audit
	}
	sent := row.SettledAt
	if sent.IsZero() {
		sent = row.UpdatedAt
	}
	n, err := a.Counter.Count(ctx, push.Question{
		Identity: d.Identity, ID: row.ID, Round: row.Round, Attempt: row.Attempt, Provider: a.cfg.Provider, Phone: phone, IntentAt: sent,
	})
	if err != nil {
		return fmt.Errorf("asking %s about row %d: %w", a.cfg.Provider, row.ID, err)
	}
	a.report.Asked++
	listed := a.cfg.Conclusive && row.Provider == a.cfg.Provider && a.cfg.Now().Sub(sent) > a.cfg.ListedAfter
	if kind, says := a.taken(row.Status, n, listed); kind != "" {
		a.gap(Finding{Kind: kind, Where: d.where, Key: d.Key(), Says: says})
	}
	return nil
}

// taken says what is wrong with n messages at the provider for a row of this status; listed: it would list what it took.
func (a *audit) taken(status push.Status, n int, listed bool) (kind, says string) {
	sent := status == push.Sent || status == push.Delivered || status == push.Undelivered
	open := status == push.Unknown || status == push.Sending
	switch {
	case n > 1:
		return KindTwice, fmt.Sprintf("%s took %d messages under one reference", a.cfg.Provider, n)
	case n == 1 && !sent && !open:
		return KindUntold, fmt.Sprintf("%s took it, and the row says %s", a.cfg.Provider, status)
	case n == 0 && sent && listed:
		return KindUnlisted, fmt.Sprintf("the row says %s, and %s lists nothing", status, a.cfg.Provider)
	}
	return "", ""
}
