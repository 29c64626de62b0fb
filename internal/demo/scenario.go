package demo

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"pusher/internal/push"
)

// Recipients that their providers refuse for good.
const (
	barredPhone  = "13900000001"
	barredOpenID = "oBARRED0000000000000000000001"
)

// event is one business fact of the scenario, with what its deliveries must come to.
type event struct {
	id      string
	value   []byte
	want    map[push.Action]push.Status
	copies  int  // how often the producer posts it, 1 or more
	renamed int  // of these, how many under another event_id
	cut     bool // the connection of its first post breaks before the answer
}

// story is one kind of event, told for a share of them.
type story struct {
	share float64
	tell  func(fields, map[push.Action]push.Status)
}

type fields map[string]any

// to is the event's recipient, to be changed in place.
func (f fields) to() map[string]string {
	to, _ := f["recipient"].(map[string]string)
	return to
}

// stories is what makes an event unlike the usual one, which goes to all three channels.
func stories(now time.Time) []story {
	return []story{
		{.04, func(f fields, want map[push.Action]push.Status) { // no WeChat account
			delete(f.to(), "openid")
			want[push.WeChat] = push.Skipped
		}},
		{.03, func(f fields, want map[push.Action]push.Status) { // a phone that is no number
			f.to()["phone"] = "12345"
			want[push.SMS] = push.Skipped
		}},
		{.02, func(f fields, want map[push.Action]push.Status) { // too late to be sent
			f["expires_at"] = now.Add(-time.Hour).Format(time.RFC3339)
			want[push.Notify], want[push.SMS], want[push.WeChat] = push.Expired, push.Expired, push.Expired
		}},
		{.03, func(f fields, _ map[push.Action]push.Status) { // not yet
			f["not_before"] = now.Add(8 * time.Second).Format(time.RFC3339)
		}},
		{.02, func(f fields, want map[push.Action]push.Status) { // a channel that does not exist
			f["actions"] = []string{"notify", "fax"}
			delete(want, push.SMS)
			delete(want, push.WeChat)
			want["fax"] = push.Skipped
		}},
		{.01, func(f fields, want map[push.Action]push.Status) { // refused for good
			f.to()["phone"] = barredPhone
			want[push.SMS] = push.Dead
		}},
		{.01, func(f fields, want map[push.Action]push.Status) { // refused for good
			f.to()["openid"] = barredOpenID
			want[push.WeChat] = push.Dead
		}},
	}
}

// scenario writes n events; a producer posts some of them again, some of those under another event_id, and loses some
// connections.
func scenario(n int, rnd *rand.Rand, now time.Time) []event {
	told := stories(now)
	events := make([]event, n)
	for i := range events {
		f, want := usual(i)
		draw := rnd.Float64()
		for _, s := range told {
			if draw -= s.share; draw < 0 {
				s.tell(f, want)
				break
			}
		}
		value, _ := json.Marshal(f) // strings and maps only
		events[i] = event{id: strconv.Itoa(10_000 + i), value: value, want: want, copies: 1}
		for rnd.Float64() < .15 {
			events[i].copies++
		}
		if rnd.Float64() < .05 {
			events[i].copies++
			events[i].renamed = 1
		}
		events[i].cut = rnd.Float64() < .05
	}
	return events
}

func usual(i int) (fields, map[push.Action]push.Status) {
	return fields{
			"biz_type": "resume_viewed", "biz_id": 10_000 + i, "event_id": fmt.Sprintf("e-%06d", i),
			"recipient": map[string]string{
				"user_id": fmt.Sprintf("u%06d", i),
				"phone":   fmt.Sprintf("138%08d", i),
				"openid":  fmt.Sprintf("oDEMO%024d", i),
			},
			"params": map[string]any{"company": "ACME & Sons", "position": "Engineer", "views": i},
		}, map[push.Action]push.Status{
			push.Notify: push.Sent, push.SMS: push.Sent, push.WeChat: push.Sent,
		}
}

// copied is one copy of the event; the last ones are renamed.
func (e event) copied(number int) []byte {
	if number < e.copies-e.renamed {
		return e.value
	}
	var f fields
	_ = json.Unmarshal(e.value, &f) // written above
	f["event_id"] = "again-" + e.id
	value, _ := json.Marshal(f)
	return value
}
