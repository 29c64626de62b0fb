package dedup

import (
	"context"
	"time"

	"pusher/internal/push"
)

// Reconcile makes the keys of deliveries say what their rows say (rule Q8). The keys are read first and then, by look,
// each delivery's latest row: a key that changes in between is left alone, and so is one whose row is absent or sending,
// or which a claim holds. window is how long a repaired key lives. The counts are of keys compared and of keys that had
// to be set right; the error is about those that Redis left unanswered, a row that look does not tell is passed over.
func (k *Keys) Reconcile(
	ctx context.Context, ids []push.Identity, window func(push.Identity) time.Duration,
	look func(context.Context, []push.Lookup) []push.Answer,
) (push.Tally, error) {
	var tally push.Tally
	var silent []error
	var seen []KeyInfo
	var rows []push.Lookup
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = id.Key()
	}
	for i, r := range k.inspectAll(ctx, keys) {
		if r.err != nil {
			silent = append(silent, r.err)
			continue
		}
		if info := r.info(keys[i]); info.LeaseLeft == 0 {
			seen, rows = append(seen, info), append(rows, push.Lookup{Identity: ids[i]})
		}
	}
	tally.KeysChecked = len(keys) - len(silent)
	if len(rows) == 0 {
		return tally, first(silent)
	}
	var repairs []Repair
	for i, a := range look(ctx, rows) {
		if a.Err == nil && a.Row.Exists() && a.Row.Status != push.Sending && !seen[i].says(a.Row.Settlement()) {
			repairs = append(repairs, Repair{Seen: seen[i], Settlement: a.Row.Settlement(), Window: window(rows[i].Identity)})
		}
	}
	for _, a := range k.Repair(ctx, repairs) {
		if a.Err != nil {
			silent = append(silent, a.Err)
		}
		if a.Mine {
			tally.KeysRepaired++
		}
	}
	return tally, first(silent)
}

// first is the first of errors that all say the same; nil for none.
func first(list []error) error {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// says reports whether the key is already what a row asks for.
func (i KeyInfo) says(s push.Settlement) bool {
	return i.State == s.State && i.Attempt == s.Attempt && i.SettledAt.UnixMilli() == s.At.UnixMilli()
}
