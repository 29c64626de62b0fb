package notify_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"pusher/internal/channels/notify"
	"pusher/internal/push"
)

func newSender(t *testing.T) *notify.Sender {
	t.Helper()
	s, err := notify.New(notify.Config{Templates: map[string]notify.Template{
		"resume_viewed": {Title: "Your resume was viewed", Body: "{{.company}} viewed your resume for {{.position}}"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSendWritesTheMessage(t *testing.T) {
	t.Parallel()
	accepted, err := newSender(t).Send(context.Background(), push.Message{
		BizType: "resume_viewed", Recipient: "u-42",
		Vars: map[string]string{"company": "A&B <Co>", "position": "厨师", "biz_id": "9007199254740993"},
	})
	if err != nil {
		t.Fatal(err)
	}
	inbox := accepted.Inbox
	if accepted.Provider != "inbox" || inbox == nil || inbox.UserID != "u-42" || inbox.Title != "Your resume was viewed" ||
		inbox.Body != "A&B <Co> viewed your resume for 厨师" {
		t.Fatalf("acceptance %+v, inbox %+v", accepted, inbox)
	}
	var data map[string]string
	if err := json.Unmarshal(inbox.Data, &data); err != nil || data["biz_id"] != "9007199254740993" {
		t.Errorf("data %s, %v", inbox.Data, err)
	}
	if !strings.Contains(string(inbox.Data), "A&B <Co>") {
		t.Errorf("data %s escapes its signs", inbox.Data)
	}
}

func TestSendRefusesForGood(t *testing.T) {
	t.Parallel()
	for code, m := range map[string]push.Message{
		"template_not_configured":   {BizType: "other", Recipient: "u-42"},
		"template_variable_missing": {BizType: "resume_viewed", Recipient: "u-42", Vars: map[string]string{"company": "A"}},
	} {
		_, err := newSender(t).Send(context.Background(), m)
		if f := push.FailureOf(err); err == nil || f.Class != push.Permanent || f.Code != code {
			t.Errorf("error %v, want permanent %s", err, code)
		}
	}
}

func TestNewNamesTheBadTemplate(t *testing.T) {
	t.Parallel()
	for where, bad := range map[string]notify.Template{
		"p.notify.title": {Title: "{{"}, "p.notify.body": {Body: "{{.x"},
	} {
		_, err := notify.New(notify.Config{Templates: map[string]notify.Template{"p": bad}})
		if err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("error %v does not name %s", err, where)
		}
	}
}

func TestPreviewIsTheMessage(t *testing.T) {
	t.Parallel()
	m := push.Message{BizType: "resume_viewed", Recipient: "u-42", Vars: map[string]string{"company": "A&B", "position": "x"}}
	preview, err := newSender(t).Preview(m)
	const want = `{"body":"A&B viewed your resume for x","title":"Your resume was viewed","user_id":"u-42"}`
	if err != nil || string(preview) != want {
		t.Errorf("preview %s, %v; want %s", preview, err, want)
	}
	m.Vars = nil
	if _, err := newSender(t).Preview(m); push.FailureOf(err).Code != "template_variable_missing" {
		t.Errorf("%v, want a refusal", err)
	}
	if got := strings.Join(newSender(t).Variables("resume_viewed"), " "); got != "company position" {
		t.Errorf("variables %s", got)
	}
	if got := newSender(t).Variables("other"); len(got) != 0 {
		t.Errorf("variables %v of no push", got)
	}
}
