package store_test

import (
	"reflect"
	"testing"
	"time"

	"pusher/internal/push"
)

// created puts a row that was created so long ago, as the database would have stamped it.
func (r rows) created(t *testing.T, ago string, status push.Status, over columns) int64 {
	t.Helper()
	at := "date_trunc('hour', now()) - interval '" + ago + "'"
	id := r.put(t, push.SMS, status, over)
	r.do(t, id, "created_at = "+at+", record_time = "+at+", updated_at = "+at)
	return id
}

// counted counts hours until there are none to count, and returns how many.
func (r rows) counted(t *testing.T) int {
	t.Helper()
	for all := 0; ; {
		n := check[int](t)(r.CountHours(t.Context()))
		if all += n; n == 0 {
			return all
		}
	}
}

// set changes what the counting remembers.
func (r rows) set(t *testing.T, sql string) {
	t.Helper()
	if _, err := r.db.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// stats are the counts by status, of a time.
func (r rows) stats(t *testing.T, from, to time.Time) map[push.Status]int64 {
	t.Helper()
	by := make(map[push.Status]int64)
	for _, c := range check[[]push.Count](t)(r.Stats(t.Context(), from, to)) {
		by[c.Status] += c.Count
	}
	return by
}

func TestStatsAreTheSameCountedOrNot(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, ago := range []string{"30 h", "29 h 59 min", "3 h", "90 min", "61 min", "59 min", "1 s"} {
		r.created(t, ago, push.Sent, nil)
	}
	late := r.created(t, "30 min", push.Failed, nil)
	r.put(t, push.SMS, push.Dead, nil) // in this hour
	open := time.Now().UTC().Truncate(time.Hour)
	ranges := [][2]time.Time{
		{}, {open.Add(-30 * time.Hour), open}, {open.Add(-100 * time.Minute), {}}, {open.Add(-2 * time.Hour), open.Add(-time.Hour)},
		{open.Add(-40 * time.Minute), open.Add(-20 * time.Minute)}, {open.Add(time.Hour * 5), {}}, {{}, open.Add(-50 * time.Hour)},
	}
	var before []map[push.Status]int64
	for _, span := range ranges {
		before = append(before, r.stats(t, span[0], span[1]))
	}
	if want := map[push.Status]int64{push.Sent: 7, push.Failed: 1, push.Dead: 1}; !reflect.DeepEqual(before[0], want) {
		t.Fatalf("uncounted: %v, want %v", before[0], want)
	}
	if n := r.counted(t); n != 30 {
		t.Errorf("%d hours counted, want 30", n)
	}
	for i, span := range ranges {
		if got := r.stats(t, span[0], span[1]); !reflect.DeepEqual(got, before[i]) {
			t.Errorf("%v: counted %v, uncounted %v", span, got, before[i])
		}
	}
	r.do(t, late, "status = 'queued', next_attempt_at = NULL, attempt = attempt + 1, updated_at = now()")
	if n := r.counted(t); n != 0 {
		t.Errorf("%d hours counted anew at once", n)
	}
	if _, err := r.db.Exec(t.Context(), "UPDATE push_hourly_state SET counted_to = counted_to - interval '6 min'"); err != nil {
		t.Fatal(err)
	}
	if n := r.counted(t); n != 1 {
		t.Errorf("%d hours counted anew, want the one that changed", n)
	}
	if got := r.stats(t, time.Time{}, time.Time{}); got[push.Queued] != 1 || got[push.Failed] != 0 || got[push.Sent] != 7 {
		t.Errorf("after the change: %v", got)
	}
}

func TestTheHourThatRanAtTheLastCountIsCountedWhole(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	r.created(t, "50 min", push.Sent, nil) // nothing of its hour changes any more
	before := r.stats(t, time.Time{}, time.Time{})
	r.set(t, `INSERT INTO push_hourly_state (counted_from, counted_to)
		VALUES (date_trunc('hour', now()) - interval '1 h', date_trunc('hour', now()) - interval '20 min')`)
	if n := r.counted(t); n != 1 {
		t.Errorf("%d hours counted, want the one that ran then", n)
	}
	if got := r.stats(t, time.Time{}, time.Time{}); !reflect.DeepEqual(got, before) {
		t.Errorf("counted %v, uncounted %v", got, before)
	}
}

func TestTheRunningHourIsCountedByTheMinute(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	if r.count(t, "SELECT extract(minute FROM now())::int") == 0 {
		t.Skip("no minute of this hour has gone by")
	}
	early := r.put(t, push.SMS, push.Sent, nil)
	r.do(t, early, "created_at = date_trunc('hour', now()), updated_at = date_trunc('hour', now())")
	r.put(t, push.SMS, push.Sent, nil) // in this minute
	open := time.Now().UTC().Truncate(time.Hour)
	ranges := [][2]time.Time{{}, {open, {}}, {open.Add(-90 * time.Minute), {}}, {open.Add(time.Second), {}}, {open, open.Add(30 * time.Second)}, {open, open.Add(time.Minute)}}
	all := func() (list []map[push.Status]int64) {
		for _, span := range ranges {
			list = append(list, r.stats(t, span[0], span[1]))
		}
		return list
	}
	before := all()
	r.counted(t)
	if n := r.count(t, "SELECT count(*) FROM push_minute"); n != 1 {
		t.Fatalf("%d minutes counted, want the first of the hour", n)
	}
	if got := all(); !reflect.DeepEqual(got, before) {
		t.Errorf("counted %v, uncounted %v", got, before)
	}
	for _, step := range []struct {
		what, set string
		delivered int64
	}{
		{"at once", "minutes_at = minutes_at", 0}, // it is read from push_minute, not from its row
		{"at the next pass", "minutes_at = minutes_at - interval '21 s'", 1},
	} {
		r.do(t, early, "status = 'delivered', updated_at = now()")
		r.set(t, "UPDATE push_hourly_state SET "+step.set)
		r.counted(t)
		if got := r.stats(t, open, time.Time{}); got[push.Delivered] != step.delivered || got[push.Sent] != 2-step.delivered {
			t.Errorf("%s: %v, want %d delivered", step.what, got, step.delivered)
		}
	}
	r.set(t, "UPDATE push_hourly_state SET counted_to = counted_to - interval '1 h'") // as if an hour had passed
	r.set(t, "UPDATE push_minute SET minute = minute - interval '1 h'")
	r.set(t, "UPDATE push_hourly_state SET minutes_to = minutes_to - interval '1 h', minutes_at = minutes_at - interval '1 h'")
	r.counted(t)
	if n := r.count(t, "SELECT count(*) FROM push_minute WHERE minute < $1", open); n != 0 {
		t.Errorf("%d minutes of the hour before are kept", n)
	}
}

func TestHoursTellLatencies(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, took := range []string{"50 ms", "300 ms", "3 s", "10 min"} {
		id := r.created(t, "90 min", push.Sent, nil)
		r.do(t, id, "sent_at = record_time + interval '"+took+"'")
	}
	r.created(t, "90 min", push.Failed, nil)
	for _, when := range []string{"uncounted", "counted"} {
		hours := check[[]push.Hour](t)(r.Hourly(t.Context(), time.Time{}, time.Time{}))
		if len(hours) != 2 || hours[0].Status != push.Failed || hours[1].Count != 4 {
			t.Fatalf("%s: %+v", when, hours)
		}
		if want := []int64{1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1}; !reflect.DeepEqual(hours[1].Latency, want) {
			t.Errorf("%s: latencies %v, want %v", when, hours[1].Latency, want)
		}
		r.counted(t)
	}
}

func TestTwoWhoCountShareNothingAndDoubleNothing(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	r.created(t, "90 min", push.Sent, nil)
	other, err := r.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), "INSERT INTO push_hourly_state (counted_from, counted_to) VALUES (now(), now())"); err != nil {
		t.Fatal(err)
	}
	if err := other.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if other, err = r.db.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), "SELECT FROM push_hourly_state FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if n := check[int](t)(r.CountHours(t.Context())); n != 0 {
		t.Errorf("%d hours counted beside another who counts", n)
	}
	if err := other.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWaitingTellsTheOldestOfEachKind(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	r.put(t, push.SMS, push.Failed, columns{"next_attempt_at": "now() - interval '10 min'"})
	r.put(t, push.SMS, push.Failed, columns{"next_attempt_at": "now() + interval '10 min'"})
	r.put(t, push.SMS, push.Unknown, columns{"ambiguous_since": "now() - interval '2 h'"})
	r.put(t, push.SMS, push.Queued, columns{"updated_at": "now() - interval '3 min'"})
	r.put(t, push.SMS, push.Sending, nil)
	r.put(t, push.SMS, push.Dead, nil)
	for range 10 {
		r.put(t, push.WeChat, push.Sent, nil)
	}
	w := check[push.Waiting](t)(r.Waiting(t.Context()))
	if w.Due != 1 || w.Later != 1 || w.Queued != 1 || w.Sending != 1 || w.Unknown != 1 || w.Dead != 1 || w.Letters != 1 || w.SentAMinute[push.WeChat] != 2 {
		t.Errorf("got %+v", w)
	}
	for name, age := range map[string][2]time.Duration{"due": {w.OldestDue, 10 * time.Minute}, "unknown": {w.OldestUnknown, 2 * time.Hour}, "queued": {w.OldestQueued, 3 * time.Minute}} {
		if age[0] < age[1] || age[0] > age[1]+5*time.Minute {
			t.Errorf("the oldest %s is %v old, want %v", name, age[0], age[1])
		}
	}
}

func TestChangesComeInTheirOrderAndOnce(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	none, at, err := r.Changes(t.Context(), push.Filter{}, time.Time{}, 0, 10)
	if err != nil || len(none) != 0 || at.IsZero() {
		t.Fatalf("%v, %v, %v", none, at, err)
	}
	first, second := r.put(t, push.SMS, push.Failed, nil), r.put(t, push.SMS, push.Failed, nil)
	r.do(t, first, "updated_at = clock_timestamp() + interval '1 s'")
	var got []int64
	for after := int64(0); ; {
		some, _, err := r.Changes(t.Context(), push.Filter{Statuses: []push.Status{push.Failed}}, at, after, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			break
		}
		got, at, after = append(got, some[0].ID), some[0].UpdatedAt, some[0].ID
	}
	if !reflect.DeepEqual(got, []int64{second, first}) {
		t.Errorf("got %v, want %v", got, []int64{second, first})
	}
}

func TestWholeRecipientsOfThoseThatHaveOne(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	kept, erased := r.put(t, push.SMS, push.Dead, nil), r.put(t, push.SMS, push.Sent, nil)
	got := check[map[int64]string](t)(r.Whole(t.Context(), []int64{kept, erased}))
	if !reflect.DeepEqual(got, map[int64]string{kept: "+8613800138000"}) {
		t.Errorf("got %v", got)
	}
}
