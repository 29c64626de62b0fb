package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pusher/internal/cli"
	"pusher/internal/push"
)

// moving is a push log whose rows change; it answers as the store does.
type moving struct {
	now  func() time.Time
	rows []push.Entry
	err  error
}

func (m *moving) Changes(_ context.Context, _ push.Filter, at time.Time, id int64, limit int) ([]push.Entry, time.Time, error) {
	if at.IsZero() || m.err != nil {
		return nil, m.now(), m.err
	}
	var found []push.Entry
	for _, e := range m.rows {
		if e.UpdatedAt.After(at) || e.UpdatedAt.Equal(at) && e.ID > id {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b push.Entry) int {
		if c := a.UpdatedAt.Compare(b.UpdatedAt); c != 0 {
			return c
		}
		return int(a.ID - b.ID)
	})
	return found[:min(limit, len(found))], m.now(), nil
}

func (m *moving) put(id int64, at time.Time) {
	m.rows = append(m.rows, push.Entry{ID: id, UpdatedAt: at, Status: push.Sent})
}

func TestFollowTellsEachChangeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &moving{now: time.Now}
		log.put(1, time.Now().Add(-time.Minute)) // before the first look
		f := &follower{log: log, seen: map[change]time.Time{}}
		var told []int64
		look := func() {
			t.Helper()
			if err := f.look(t.Context(), func(e push.Entry) error { told = append(told, e.ID); return nil }); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		look()
		log.put(2, time.Now())
		look()
		look()
		log.put(3, time.Now().Add(-3*time.Second)) // committed late
		log.put(2, time.Now())                     // the same row again
		look()
		for range followPage + 5 {
			log.put(int64(10+len(log.rows)), time.Now())
		}
		for range 20 {
			look()
		}
		if want := []int64{2, 3, 2}; len(told) != 3+followPage+5 || !slices.Equal(told[:3], want) {
			t.Errorf("told %d changes, first %v", len(told), told[:min(3, len(told))])
		}
		if len(f.seen) != 0 {
			t.Errorf("%d changes are remembered for ever", len(f.seen))
		}
	})
}

func TestFollowEndsWithItsContextAndWithAnError(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	log := &moving{now: time.Now}
	none := func(push.Entry) error { return nil }
	if err := (&follower{log: log, seen: map[change]time.Time{}}).follow(ctx, time.Second, none); err != nil {
		t.Errorf("ended with %v", err)
	}
	log.err = errors.New("away")
	if err := (&follower{log: log, seen: map[change]time.Time{}}).follow(t.Context(), time.Second, none); !errors.Is(err, log.err) {
		t.Errorf("ended with %v", err)
	}
}

func TestChangeIsALine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &cli.World{Stdout: &out}
	e := push.Entry{ID: 7, Identity: push.Identity{BizType: "viewed", Action: push.SMS}, BizID: "10248", Status: push.Unknown, UserID: "user-10248"}
	if err := printChange(w, e, false); err != nil || !strings.Contains(out.String(), "unknown      viewed 10248 sms  row 7  attempt 0") {
		t.Errorf("%v: %q", err, out.String())
	}
	out.Reset()
	if err := printChange(w, e, true); err != nil || !json.Valid(out.Bytes()) || strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "user-10248") {
		t.Errorf("%v: %q", err, out.String())
	}
}
