package receipts

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"pusher/internal/push"
)

// The bounds of one call.
const (
	maxBody  = 1 << 20         // bytes
	maxItems = 500             // receipts; Tencent sends at most 100
	patience = 4 * time.Second // for the push log: WeChat waits 5 s
)

// errTooMany refuses a call with more receipts than any provider sends at once.
var errTooMany = errors.New("more receipts in one call than any provider sends")

// read takes the body, or answers why not.
func read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		return body, true
	}
	status := http.StatusBadRequest
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		status = http.StatusRequestEntityTooLarge
	}
	http.Error(w, http.StatusText(status), status)
	return nil, false
}

// take stores the receipts and then matches them; it reports whether they are stored. A client that leaves in between
// changes nothing; a receipt whose matching fails is matched by the compensator.
func (d *Doors) take(ctx context.Context, provider string, receipts []push.Receipt) bool {
	if len(receipts) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	kept, err := d.log.KeepReceipts(ctx, receipts)
	if err != nil {
		d.cfg.Meter.Receipts(provider, OutcomeLost, len(receipts))
		d.cfg.Log.Error().Err(err).Str("provider", provider).Int("receipts", len(receipts)).
			Msg("receipts could not be stored: the provider is asked to send them again")
		return false
	}
	fresh := d.counted(provider, receipts, kept)
	if len(fresh) == 0 {
		return true
	}
	found, err := d.match(ctx, fresh)
	d.cfg.Meter.Receipts(provider, OutcomeUnmatched, len(fresh)-found)
	if err != nil {
		d.cfg.Log.Warn().Err(err).Str("provider", provider).Msg("receipts are stored, and matched by the compensator")
	}
	return true
}

// counted counts what came and returns the ids of what is to be matched.
func (d *Doors) counted(provider string, receipts []push.Receipt, kept []push.Kept) []int64 {
	var fresh []int64
	for i, k := range kept {
		switch {
		case k.Repeated:
			d.cfg.Meter.Receipts(provider, OutcomeRepeated, 1)
		case receipts[i].Report == push.ReportUnreadable:
			d.cfg.Meter.Receipts(provider, OutcomeUnreadable, 1)
		default:
			d.cfg.Meter.Receipts(provider, OutcomeNew, 1)
			fresh = append(fresh, k.ID)
		}
	}
	return fresh
}

// match brings receipts to their deliveries until none is due any more.
func (d *Doors) match(ctx context.Context, ids []int64) (found int, err error) {
	for {
		matched, looked, err := d.log.MatchReceipts(ctx, len(ids), ids)
		for _, m := range matched {
			d.cfg.Meter.Matched(m)
			d.cfg.Log.Info().Str("provider", m.Provider).Int64("delivery", m.DeliveryID).Str("report", string(m.Report)).
				Str("effect", string(m.Effect)).Str("code", m.Code).Msg("receipt matched")
		}
		found += len(matched)
		if err != nil || looked == len(matched) { // none is left that had to let another one pass
			return found, err
		}
	}
}

// refuse answers a call without proof of its sender.
func (d *Doors) refuse(w http.ResponseWriter, provider string, status int) {
	d.cfg.Meter.Receipts(provider, OutcomeRefused, 1)
	http.Error(w, http.StatusText(status), status)
}

// say answers in a content type that no browser makes more of.
func say(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Content-Type", contentType+"; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) //nolint:gosec // an echo is plain text and stays so; a provider that is gone needs none
}
