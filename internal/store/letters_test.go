package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pusher/internal/push"
)

// all says of every letter that it is written.
func all(_ context.Context, due []push.Letter) ([]bool, error) {
	done := make([]bool, len(due))
	for i := range done {
		done[i] = true
	}
	return done, nil
}

func TestQ7WritesADueLetterAndClearsIt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Dead, columns{"attempt": "5"})
	updated := r.say(t, id, "updated_at")
	var got push.Letter
	n := check[int](t)(r.Letters(context.Background(), 10, func(ctx context.Context, due []push.Letter) ([]bool, error) {
		got = due[0]
		return all(ctx, due)
	}))
	want := push.Origin{Topic: "push-events", Partition: 3, Offset: 42, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	got.Origin.Time = got.Origin.Time.UTC()
	if n != 1 || got.ID != id || got.Attempt != 5 || got.Code != "isv.MOBILE_NUMBER_ILLEGAL" || got.Message != "no such number" ||
		got.Origin != want || got.Recipient != "+8613800138000" {
		t.Errorf("%d letters, the first %+v", n, got)
	}
	r.must(t, id, "dead f "+updated, "status", "letter_due", "updated_at")
	if n := check[int](t)(r.Letters(context.Background(), 10, all)); n != 0 {
		t.Errorf("%d letters written again", n)
	}
}

// H10: a letter stays due until it is written, and those that were written are not written again.
func TestQ7KeepsWhatIsNotWritten(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	first, second := r.put(t, push.SMS, push.Dead, nil), r.put(t, push.SMS, push.Dead, nil)
	refused := errors.New("broker away")
	n, err := r.Letters(context.Background(), 10, func(context.Context, []push.Letter) ([]bool, error) {
		return []bool{true, false}, refused
	})
	if n != 1 || !errors.Is(err, refused) {
		t.Errorf("%d written, error %v; want 1 and the refusal", n, err)
	}
	r.must(t, first, "f", "letter_due")
	r.must(t, second, "t", "letter_due")
}

// A letter that one pass has in hand is not given to another, and is noted even when the pass is told to stop.
func TestQ7TwoPassesShareTheLetters(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for range 4 {
		r.put(t, push.SMS, push.Dead, nil)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var other int
	mine, err := r.Letters(ctx, 3, func(ctx context.Context, due []push.Letter) ([]bool, error) {
		var err error
		other, err = r.Letters(ctx, 10, all)
		stop()
		done, _ := all(ctx, due)
		return done, err
	})
	if err != nil || mine != 3 || other != 1 {
		t.Errorf("wrote %d and %d letters, %v; want 3 and 1", mine, other, err)
	}
}
