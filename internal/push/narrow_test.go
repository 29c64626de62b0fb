package push

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func somePoke(a Action) Poke {
	return Poke{
		Identity: Identity{BizType: "t", RuleVersion: "v2", DedupID: "u%2C1,7", Action: a},
		BizID:    "9007199254740993",
		Round:    3,
		Attempt:  2,
		Event: []byte(`{"biz_type":"t","biz_id":9007199254740993,"actions":["notify","sms"],` +
			`"params":{"n":1.50},"unknown":[1,{}],"last_error":"theirs"}`),
		UserID:    "u\"1",
		Recipient: "+8613800138000",
		TraceID:   "0af7651916cd43dd8448eb211c80319c",
	}
}

func headersOf(r Record) map[string]string {
	got := map[string]string{}
	for _, h := range r.Headers {
		got[h.Key] = string(h.Value)
	}
	return got
}

func TestPokeRecordIsReadBackAsTheSameDelivery(t *testing.T) {
	t.Parallel()
	for action, want := range map[Action]Recipient{
		SMS:    {UserID: `u"1`, Phone: "+8613800138000"},
		WeChat: {UserID: `u"1`, OpenID: "+8613800138000"},
		Notify: {UserID: "+8613800138000"},
	} {
		p := somePoke(action)
		r, err := p.Record("retry")
		if err != nil {
			t.Fatal(err)
		}
		if r.Topic != "retry" || string(r.Key) != p.BizID {
			t.Errorf("%s: topic %q, key %q", action, r.Topic, r.Key)
		}
		e := mustDecode(t, r)
		if e.BizID != p.BizID || len(e.Actions) != 1 || e.Actions[0] != action || e.Recipient != want {
			t.Errorf("%s: event = %+v", action, e)
		}
		if !strings.Contains(string(r.Value), `"params":{"n":1.50},"unknown":[1,{}]`) {
			t.Errorf("%s: value = %s", action, r.Value)
		}
		if e.TraceID() != p.TraceID {
			t.Errorf("%s: the trace is not passed on: %q", action, e.TraceParent)
		}
		asked, ok := r.Retry()
		if !ok || asked != (Asked{Retry{3, 2}, action, "v2", "u%2C1,7"}) {
			t.Errorf("%s: asked = %+v, %v", action, asked, ok)
		}
	}
}

func TestPokeRecordOfTheLargestEventIsReadBack(t *testing.T) {
	t.Parallel()
	text := `{"biz_type":"t","biz_id":"1","recipient":{"user_id":1},"x":"`
	text += strings.Repeat("x", MaxValue-len(text)-2) + `"}`
	e := mustDecode(t, value(text, "ce_id", strings.Repeat("\x01", maxText)))
	p := Poke{
		Identity:  Identity{BizType: "t", RuleVersion: "v1", DedupID: "1", Action: SMS},
		Round:     1,
		Attempt:   2,
		Event:     e.Raw,
		UserID:    strings.Repeat("\x01", maxText),
		Recipient: "+8613800138000",
	}
	r, err := p.Record("retry")
	if err != nil {
		t.Fatal(err)
	}
	if mustDecode(t, r).EventID != e.EventID {
		t.Error("the envelope's id is lost on a retry")
	}
	if _, traced := r.Header(HeaderTraceParent); traced {
		t.Error("a delivery without trace got one")
	}
}

func TestPokeRecordOfABrokenRowIsAnError(t *testing.T) {
	t.Parallel()
	p := somePoke(SMS)
	p.Event = []byte(`[]`)
	_, err := p.Record("retry")
	if err == nil || !strings.Contains(err.Error(), "narrowing an event to sms") {
		t.Errorf("error = %v", err)
	}
	if _, err := (Letter{Poke: p}).Record("dlq"); err == nil {
		t.Error("a letter of it is none")
	}
}

func TestLetterRecordSaysWhyAndWhere(t *testing.T) {
	t.Parallel()
	l := Letter{
		Poke:    somePoke(SMS),
		Code:    "isv.MOBILE\"",
		Message: "no\nsuch\x00number",
		Origin:  Origin{Topic: "push-events", Partition: 3, Offset: 42, Time: time.UnixMilli(1767225600123)},
	}
	r, err := l.Record("dlq")
	if err != nil {
		t.Fatal(err)
	}
	got := headersOf(r)
	for key, want := range map[string]string{
		HeaderReason: "dead", HeaderAction: "sms", HeaderAttempt: "2", HeaderTopic: "push-events",
		HeaderPartition: "3", HeaderOffset: "42", HeaderTime: "2026-01-01T00:00:00.123Z",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
	var letter struct {
		Actions   []string          `json:"actions"`
		LastError map[string]string `json:"last_error"`
	}
	if err := json.Unmarshal(r.Value, &letter); err != nil {
		t.Fatal(err)
	}
	if letter.LastError["code"] != l.Code || letter.LastError["message"] != "no\nsuchnumber" || len(letter.Actions) != 1 {
		t.Errorf("letter = %+v", letter)
	}
	if strings.Contains(string(r.Value), "theirs") {
		t.Error("an unknown field of the event stands beside our last_error")
	}
}

func TestNarrowKeepsTheEvent(t *testing.T) {
	t.Parallel()
	e := mustDecode(t, value(`{"biz_type":"t","actions":["sms","wechat"],"biz_id":7,"recipient":{"phone":"1"},"x":1}`))
	got, err := e.Narrow(WeChat, Recipient{OpenID: "o"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"biz_type":"t","biz_id":7,"x":1,"actions":["wechat"],"recipient":{"openid":"o"}}`; string(got) != want {
		t.Errorf("narrowed to %s, want %s", got, want)
	}
}
