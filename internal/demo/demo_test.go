package demo

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

func story1(seed uint64) []event {
	return scenario(400, rand.New(rand.NewPCG(seed, 1)), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
}

func TestSameSeedTellsTheSameStory(t *testing.T) {
	t.Parallel()
	if !reflect.DeepEqual(story1(7), story1(7)) {
		t.Error("the same seed told two stories")
	}
	if reflect.DeepEqual(story1(7), story1(8)) {
		t.Error("two seeds told the same story")
	}
}

func TestEveryCopyIsAnEventOfTheSameFact(t *testing.T) {
	t.Parallel()
	renamed, cut := 0, 0
	for _, e := range story1(1) {
		if e.cut {
			cut++
		}
		for c := range e.copies {
			decoded, err := push.Decode(push.Record{Value: e.copied(c)})
			if err != nil {
				t.Fatalf("copy %d of %s: %v", c, e.id, err)
			}
			if decoded.BizID != e.id {
				t.Errorf("copy %d of %s has biz_id %s", c, e.id, decoded.BizID)
			}
			if strings.HasPrefix(decoded.EventID, "again-") {
				renamed++
			}
		}
	}
	if renamed == 0 || cut == 0 {
		t.Errorf("%d producers retried under another event_id, %d lost their connection", renamed, cut)
	}
}

func TestEveryKindOfStoryIsTold(t *testing.T) {
	t.Parallel()
	told := map[push.Status]bool{}
	for _, e := range story1(1) {
		for _, status := range e.want {
			told[status] = true
		}
	}
	for _, s := range []push.Status{push.Sent, push.Skipped, push.Expired, push.Dead} {
		if !told[s] {
			t.Errorf("nothing ends as %s", s)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	sms := func(status push.Status) want {
		return want{push.Lookup{Identity: push.Identity{BizType: "b", DedupID: "1", Action: push.SMS}}, status}
	}
	row := func(s push.Status, attempt int) push.Row { return push.Row{ID: 1, Status: s, Attempt: attempt} }
	cases := []struct {
		name     string
		want     want
		row      push.Row
		accepted int
		counted  func(*verdict) int
		good     bool
	}{
		{"sent at once", sms(push.Sent), row(push.Sent, 1), 1, func(v *verdict) int { return 1 - v.retried }, true},
		{"sent at the second attempt", sms(push.Sent), row(push.Sent, 2), 1, func(v *verdict) int { return v.retried }, true},
		{"rightly never sent", sms(push.Expired), row(push.Expired, 0), 0, func(v *verdict) int { return v.neverSent }, true},
		{"sent twice", sms(push.Sent), row(push.Sent, 2), 2, func(v *verdict) int { return v.twice }, false},
		{"lost, whatever the row says", sms(push.Sent), row(push.Sent, 1), 0, func(v *verdict) int { return v.lost }, false},
		{"sent and the row does not know", sms(push.Sent), row(push.Unknown, 1), 1, func(v *verdict) int { return v.strays }, false},
		{"sent against the rules", sms(push.Expired), row(push.Expired, 1), 1, func(v *verdict) int { return v.strays }, false},
	}
	for _, c := range cases {
		v := &verdict{byAction: map[push.Action]map[push.Status]int{}}
		v.count(c.want, c.row, c.accepted)
		if c.counted(v) != 1 || v.good() != c.good {
			t.Errorf("%s: %+v", c.name, v)
		}
		var out bytes.Buffer
		v.print(&out)
		if named := strings.Contains(out.String(), "push:dedup:b:1:sms"); named == c.good {
			t.Errorf("%s: the table names the delivery: %v\n%s", c.name, named, out.String())
		}
	}
}

func TestStatusWords(t *testing.T) {
	t.Parallel()
	got := statusWords(map[push.Status]int{push.Sent: 2, push.Dead: 1, push.Failed: 0})
	if want := []string{"2 sent", "1 dead"}; got != strings.Join(want, ", ") {
		t.Errorf("got %q", got)
	}
}
