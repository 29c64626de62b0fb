package operate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

// traces is what an audit reads: one partition of events, and what each service says of them.
type traces struct {
	events    []push.Record
	letters   []push.Record
	committed int64
	rows      map[string]push.Row // by dedup id
	keys      map[string]Key      // likewise
	taken     map[string]int      // likewise; by the provider
	away      error               // of Redis
}

func (w *traces) Parts(_ context.Context, topic string, _, _ time.Time) ([]push.Part, error) {
	part := push.Part{Topic: topic, Committed: -1}
	switch topic {
	case "events":
		part.To, part.End, part.Committed = int64(len(w.events)), int64(len(w.events)), w.committed
	case "letters":
		part.To, part.End = int64(len(w.letters)), int64(len(w.letters))
	}
	return []push.Part{part}, nil
}

func (w *traces) Read(_ context.Context, part push.Part, each func(push.Record) error) error {
	records := w.events
	switch part.Topic {
	case "letters":
		records = w.letters
	case "retry":
		records = nil
	}
	for _, r := range records {
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

func (w *traces) Look(ctx context.Context, lookups []push.Lookup) []push.Answer {
	answers := make([]push.Answer, len(lookups))
	for i, l := range lookups {
		answers[i].Row = w.rows[l.DedupID]
	}
	return answers
}

func (*traces) Twice(context.Context, time.Time, time.Time) ([]push.Twice, error) {
	return []push.Twice{{ID: 7, What: "known", Known: true}}, nil
}

func (*traces) Strays(context.Context, time.Time, time.Time) ([]push.Stray, error) { return nil, nil }

// keysOf reads keys of traces; it has a name of its own, since both look.
type keysOf struct{ *traces }

func (k keysOf) Look(_ context.Context, key string) (Key, error) {
	id, err := push.ParseKey(key)
	if found, ok := k.keys[id.DedupID]; ok {
		return found, errors.Join(err, k.away)
	}
	return Key{State: push.KeyAbsent}, errors.Join(err, k.away)
}

func (w *traces) Count(_ context.Context, q push.Question) (int, error) {
	return w.taken[q.DedupID], nil
}

// now is when the audits are.
func now() time.Time { return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC) }

// at puts a record at an offset of the events' topic.
func at0(offset int64, value string) push.Record {
	return push.Record{Origin: push.Origin{Topic: "events", Offset: offset, Time: now().Add(-time.Hour)}, Value: []byte(value)}
}

// plan is a planner: the value is the dedup id of one SMS; "poison" is no event, "" a tombstone.
func planned(r push.Record) ([]*push.Delivery, error) {
	switch string(r.Value) {
	case "":
		return nil, push.ErrTombstone
	case "poison":
		return nil, &push.PoisonError{Reason: push.ReasonNotJSON}
	}
	return []*push.Delivery{{
		Identity: push.Identity{BizType: "a", DedupID: string(r.Value), Action: push.SMS}, Origin: r.Origin, Window: time.Minute,
		Event: &push.Event{Recipient: push.Recipient{Phone: "13800138000"}},
	}}, nil
}

// audited runs an audit over w.
func audited(t *testing.T, w *traces) Report {
	t.Helper()
	report, err := Audit(t.Context(), AuditConfig{
		Topic: "events", RetryTopic: "retry", DeadLetterTopic: "letters", Expected: planned, Region: "CN", Settled: time.Minute,
		Now: now, Provider: "aliyun", Conclusive: true, ListedAfter: time.Minute,
	}, AuditPorts{Source: w, Ledger: w, Keys: keysOf{w}, Counter: w}, now().Add(-2*time.Hour), now())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// row is one in that status since half an hour.
func row(status push.Status) push.Row {
	r := push.Row{ID: 1, Round: 1, Status: status, Attempt: 1, Provider: "aliyun", UpdatedAt: now().Add(-30 * time.Minute)}
	if status.Settled() {
		r.SettledAt = r.UpdatedAt
	}
	return r
}

func TestAuditTellsGapsFromNotes(t *testing.T) {
	t.Parallel()
	old := row(push.Sent)
	old.SettledAt = now().Add(-3 * time.Hour)
	success := Key{State: push.KeySuccess, Attempt: 1, TTL: time.Hour}
	letter := push.Record{Headers: at0(0, "").Origin.Headers()}
	cases := map[string]struct {
		value   string
		row     push.Row
		key     Key
		letters []push.Record
		taken   int
		gaps    string
		notes   string
	}{
		"sent":                       {"x", row(push.Sent), success, nil, 1, "", ""},
		"key forgotten":              {"x", row(push.Sent), Key{State: push.KeyAbsent}, nil, 1, "", ""},
		"being sent":                 {"x", row(push.Sending), Key{State: push.KeyProcessing, TTL: 1}, nil, 0, "", ""},
		"no row":                     {"x", push.Row{}, Key{State: push.KeyAbsent}, nil, 1, KindNoRow, ""},
		"no row, but a key":          {"x", push.Row{}, success, nil, 1, KindKeyNoRow + " " + KindNoRow, ""},
		"no row, refused":            {"x", push.Row{}, success, []push.Record{letter}, 0, "", ""},
		"no next round":              {"x", old, success, nil, 1, KindNoRow, ""},
		"key differs":                {"x", row(push.Failed), success, nil, 0, "", KindKey},
		"immortal key":               {"x", row(push.Sent), Key{State: push.KeySuccess, Attempt: 1}, nil, 1, KindImmortal, ""},
		"twice":                      {"x", row(push.Sent), success, nil, 2, KindTwice, ""},
		"not sent, and taken":        {"x", row(push.Dead), Key{State: push.KeyAbsent}, nil, 1, KindUntold, ""},
		"not known, and taken":       {"x", row(push.Unknown), Key{State: push.KeyAbsent}, nil, 1, "", ""},
		"sent, and not listed":       {"x", row(push.Sent), success, nil, 0, KindUnlisted, ""},
		"tombstone":                  {"", push.Row{}, Key{State: push.KeyAbsent}, nil, 0, "", ""},
		"poison":                     {"poison", push.Row{}, Key{State: push.KeyAbsent}, nil, 0, KindNoLetter, ""},
		"poison with its letter":     {"poison", push.Row{}, Key{State: push.KeyAbsent}, []push.Record{letter}, 0, "", ""},
		"a letter of another record": {"poison", push.Row{}, Key{State: push.KeyAbsent}, []push.Record{{Headers: push.Origin{Topic: "events", Offset: 9}.Headers()}}, 0, KindNoLetter, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &traces{
				events: []push.Record{at0(0, c.value)}, committed: 1, letters: c.letters,
				rows: map[string]push.Row{"x": c.row}, keys: map[string]Key{"x": c.key}, taken: map[string]int{"x": c.taken},
			}
			got := audited(t, w)
			notes := strings.TrimSpace(c.notes + " " + KindTwice) // the one that the push log knows of is no gap
			if words(got.Gaps) != c.gaps || words(got.Notes) != notes {
				t.Errorf("gaps %+v, notes %+v", got.Gaps, got.Notes)
			}
		})
	}
}

func words(list []Finding) string {
	kinds := make([]string, len(list))
	for i, f := range list {
		kinds[i] = f.Kind
	}
	slices.Sort(kinds)
	return strings.Join(kinds, " ")
}

func TestAuditAsksOnlyOfWhatIsCommitted(t *testing.T) {
	t.Parallel()
	w := &traces{events: []push.Record{at0(0, "x"), at0(1, "y")}, committed: -1}
	if got := audited(t, w); len(got.Gaps) > 0 || got.Waiting != 2 || got.Records != 2 || got.Deliveries != 0 {
		t.Errorf("nothing committed: %+v", got)
	}
	w.committed = 1
	if got := audited(t, w); words(got.Gaps) != KindNoRow || got.Waiting != 1 {
		t.Errorf("one committed: %+v", got)
	}
	w.committed = 5
	if got := audited(t, w); words(got.Gaps) != KindNoRow+" "+KindNoRow+" "+KindCommitted {
		t.Errorf("more committed than there is: %+v", got)
	}
}

// An audit that could not look is no audit that found nothing.
func TestAuditThatCannotReadSaysSo(t *testing.T) {
	t.Parallel()
	w := &traces{events: []push.Record{at0(0, "x")}, committed: 1, away: errors.New("redis away")}
	_, err := Audit(t.Context(), AuditConfig{Topic: "events", RetryTopic: "retry", DeadLetterTopic: "letters", Expected: planned, Now: now},
		AuditPorts{Source: w, Ledger: w, Keys: keysOf{w}}, now().Add(-time.Hour), now())
	if !errors.Is(err, w.away) {
		t.Errorf("got %v", err)
	}
}
