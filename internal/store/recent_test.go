package store_test

import (
	"slices"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestRecentListsWhatChangedAndWhatIsOverdue(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for id, set := range map[string]string{
		"changed":       `lease_until = NULL, status = 'sent', recipient_full = NULL, sent_at = now(), settled_at = now()`,
		"sending":       `updated_at = now()`,
		"long ago":      `lease_until = NULL, status = 'sent', recipient_full = NULL, sent_at = now(), settled_at = now(), updated_at = now() - interval '1 hour'`,
		"queued, stuck": `lease_until = NULL, status = 'queued', updated_at = now() - interval '1 hour', published_at = now() - interval '50 min'`,
		"failed, stuck": `lease_until = NULL, status = 'failed', updated_at = now() - interval '1 hour', next_attempt_at = now() - interval '50 min'`,
		"failed, early": `lease_until = NULL, status = 'failed', updated_at = now() - interval '1 hour', next_attempt_at = now() + interval '1 hour'`,
	} {
		row := r.intend(t, "me", about(id))
		if _, err := r.db.Exec(t.Context(), `UPDATE push_log SET `+set+` WHERE id = $1`, row.ID); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.Recent(t.Context(), 10, 10*time.Minute, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, id := range got {
		ids = append(ids, id.DedupID)
		if id.BizType == "" || id.RuleVersion == "" || id.Action != push.SMS {
			t.Errorf("%+v is no whole identity", id)
		}
	}
	slices.Sort(ids)
	if want := []string{"changed", "failed, stuck", "queued, stuck"}; !slices.Equal(ids, want) {
		t.Errorf("listed %q, want %q", ids, want)
	}
	if got, err := r.Recent(t.Context(), 1, time.Hour*2, time.Minute); err != nil || len(got) > 3 {
		t.Errorf("%d listed, %v; want at most one of each kind", len(got), err)
	}
}
