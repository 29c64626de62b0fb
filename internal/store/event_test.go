package store_test

import "testing"

func TestEventIsKeptAsReceivedWithItsNumbers(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	if got, err := r.Event(t.Context(), row.ID); err != nil || got != `{"biz_type":"resume_viewed","biz_id":9007199254740993}` {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := r.Event(t.Context(), row.ID+1); err != nil || got != "" {
		t.Errorf("no such delivery: %q, %v", got, err)
	}
}
