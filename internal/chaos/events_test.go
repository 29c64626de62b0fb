package chaos

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pusher/internal/push"
)

func written(seed uint64, n int) (*author, [][]push.Record) {
	a := newAuthor(seed)
	var all [][]push.Record
	for range n {
		all = append(all, a.next(time.Unix(1_800_000_000, 0)))
	}
	return a, all
}

func TestTheSameSeedWritesTheSameEvents(t *testing.T) {
	t.Parallel()
	_, one := written(1, 200)
	_, same := written(1, 200)
	_, other := written(2, 200)
	if !reflect.DeepEqual(one, same) {
		t.Error("one seed writes two stories")
	}
	if reflect.DeepEqual(one, other) {
		t.Error("two seeds write one story")
	}
}

func TestDuplicatesDifferInKeyOrEventIDOnly(t *testing.T) {
	t.Parallel()
	a, all := written(3, 2000)
	byID := map[string]map[string]int{} // by biz_id: what the copies say without their event id
	keys := map[string]map[string]bool{}
	poison := 0
	for _, records := range all {
		for _, r := range records {
			var fields map[string]any
			if json.Unmarshal(r.Value, &fields) != nil {
				poison++
				continue
			}
			event, err := push.Decode(r)
			if err != nil {
				t.Fatal(err)
			}
			delete(fields, "event_id")
			text, _ := json.Marshal(fields)
			if byID[event.BizID] == nil {
				byID[event.BizID], keys[event.BizID] = map[string]int{}, map[string]bool{}
			}
			byID[event.BizID][string(text)]++
			keys[event.BizID][string(r.Key)] = true
		}
	}
	repeated, elsewhere := 0, 0
	for id, texts := range byID {
		if len(texts) != 1 {
			t.Errorf("event %s says %d different things", id, len(texts))
		}
		for _, n := range texts {
			if n > 1 {
				repeated++
			}
		}
		if len(keys[id]) > 1 {
			elsewhere++
		}
	}
	if len(byID) != len(a.events) || repeated < 400 || elsewhere < 200 || poison == 0 {
		t.Errorf("%d events, %d written more than once, %d under more than one key, %d no events; want %d, many, many, some",
			len(byID), repeated, elsewhere, poison, len(a.events))
	}
}

func TestEachEventSaysWhatItsDeliveriesMustComeTo(t *testing.T) {
	t.Parallel()
	a, _ := written(4, 2000)
	by := map[push.Action]map[push.Status]int{push.Notify: {}, push.SMS: {}, push.WeChat: {}}
	for _, e := range a.events {
		for action, status := range e.want {
			by[action][status]++
		}
	}
	for action, wanted := range map[push.Action][]push.Status{
		push.Notify: {push.Sent, push.Expired},
		push.SMS:    {push.Sent, push.Expired, push.Skipped, push.Dead},
		push.WeChat: {push.Sent, push.Expired, push.Skipped, push.Dead},
	} {
		for _, status := range wanted {
			if by[action][status] == 0 {
				t.Errorf("no %s that must be %s", action, status)
			}
		}
		if by[action][push.Sent] < 1500 {
			t.Errorf("%d of 2000 %s must be sent: too few to prove anything", by[action][push.Sent], action)
		}
	}
}
