package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"pusher/internal/push"
)

const (
	topic   = "push-events"
	bizType = "resume_viewed"
)

// event is one business fact, with what its deliveries must come to.
type event struct {
	id     string
	fields map[string]any
	want   map[push.Action]push.Status
}

// author writes the events of a run; the same seed writes the same ones.
type author struct {
	rnd    *rand.Rand
	events []event
}

func newAuthor(seed uint64) *author { return &author{rnd: rand.New(rand.NewPCG(seed, 2))} }

// chance is true for a share of the calls.
func (a *author) chance(share float64) bool { return a.rnd.Float64() < share }

// next is a new event with the records that an impatient producer writes of it: the event, often once more under the
// same or another event id or another key (and so perhaps in another partition, where another pusher reads it), now
// and then an older event again, and something that is no event at all.
func (a *author) next(now time.Time) []push.Record {
	e := a.write(now)
	records := []push.Record{e.record(e.id, "e-"+e.id)}
	if a.chance(.15) {
		records = append(records, e.record(e.id, "e-"+e.id))
	}
	if a.chance(.1) {
		records = append(records, e.record("other-"+e.id, "again-"+e.id))
	}
	if a.chance(.1) {
		old := a.events[a.rnd.IntN(len(a.events))]
		records = append(records, old.record(strconv.Itoa(a.rnd.IntN(1000)), "replay-"+old.id))
	}
	if a.chance(.005) {
		records = append(records, push.Record{Origin: push.Origin{Topic: topic}, Value: []byte(`{"biz_type":`)})
	}
	return records
}

// write makes the next event. Most go to all three channels; some are told otherwise.
func (a *author) write(now time.Time) event {
	i := len(a.events)
	to := map[string]string{"user_id": fmt.Sprintf("u%07d", i), "phone": fmt.Sprintf("138%08d", i), "openid": fmt.Sprintf("oCHAOS%022d", i)}
	e := event{
		id: strconv.Itoa(1_000_000 + i),
		fields: map[string]any{
			"biz_type": bizType, "biz_id": 1_000_000 + i, "recipient": to, "params": map[string]any{"company": "ACME & Sons"},
		},
		want: map[push.Action]push.Status{push.Notify: push.Sent, push.SMS: push.Sent, push.WeChat: push.Sent},
	}
	switch draw := a.rnd.Float64(); {
	case draw < .02:
		delete(to, "openid")
		e.want[push.WeChat] = push.Skipped
	case draw < .04:
		to["phone"] = "12345"
		e.want[push.SMS] = push.Skipped
	case draw < .06:
		e.fields["not_before"] = now.Add(time.Duration(2+a.rnd.IntN(8)) * time.Second).Format(time.RFC3339Nano)
	case draw < .07:
		e.fields["expires_at"] = now.Add(-time.Hour).Format(time.RFC3339)
		e.want[push.Notify], e.want[push.SMS], e.want[push.WeChat] = push.Expired, push.Expired, push.Expired
	case draw < .08:
		to["phone"], e.want[push.SMS] = barredPhone, push.Dead
	case draw < .09:
		to["openid"], e.want[push.WeChat] = barredOpenID, push.Dead
	case draw < .15:
		e.fields["actions"] = []string{"sms"}
		delete(e.want, push.Notify)
		delete(e.want, push.WeChat)
	}
	a.events = append(a.events, e)
	return e
}

// user is the event's own user.
func (e event) user() string {
	to, _ := e.fields["recipient"].(map[string]string) // written above
	return to["user_id"]
}

// record is the event on the topic, under a key and an event id.
func (e event) record(key, eventID string) push.Record {
	fields := map[string]any{"event_id": eventID}
	maps.Copy(fields, e.fields)
	value, _ := json.Marshal(fields) // strings, numbers and maps only
	return push.Record{Origin: push.Origin{Topic: topic}, Key: []byte(key), Value: value}
}
