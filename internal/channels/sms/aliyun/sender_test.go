package aliyun_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"pusher/internal/channels/channeltest"
	"pusher/internal/channels/sms/aliyun"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

func TestRefusedNonceOrTimeIsSignedAgainOnce(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"SignatureNonceUsed", "InvalidTimeStamp.Expired"} {
		box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{
			{Kind: provider.Refuse, Code: code, Count: 1},
		}})
		if _, err := newSender(t, config(box.URL())).Send(context.Background(), message()); err != nil {
			t.Errorf("%s: %v", code, err)
		}
		if n := box.Requests(provider.Aliyun, provider.CallSend); n != 2 || box.Journal().Total("") != 1 {
			t.Errorf("%s: %d requests, %d accepted, want 2 and 1", code, n, box.Journal().Total(""))
		}
		_ = box.SetFaults([]provider.Fault{{Kind: provider.Refuse, Code: code}})
		_, err := newSender(t, config(box.URL())).Send(context.Background(), message())
		if f := channeltest.Failure(t, err); f.Code != code || box.Requests(provider.Aliyun, provider.CallSend) != 4 {
			t.Errorf("%s for ever: %v after %d requests, want two more", code, err, box.Requests(provider.Aliyun, provider.CallSend))
		}
	}
}

func TestClockThatIsOffStopsTheAccount(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	cfg := config(box.URL())
	cfg.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	_, err := newSender(t, cfg).Send(context.Background(), message())
	if f := channeltest.Failure(t, err); f.Class != push.Account || f.Code != "InvalidTimeStamp.Expired" {
		t.Errorf("%v, want an account stop", err)
	}
}

func TestSendWithoutTemplateCallsNobody(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	m := message()
	m.BizType = "other"
	_, err := newSender(t, config(box.URL())).Send(context.Background(), m)
	if f := channeltest.Failure(t, err); f.Class != push.Permanent || f.Code != "template_not_configured" {
		t.Errorf("%v, want permanent", err)
	}
	if n := box.Requests(provider.Aliyun, provider.CallSend); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	bad := config("")
	bad.Templates = map[string]aliyun.Template{"p": {Params: map[string]string{"x": "{{"}}}
	if _, err := aliyun.New(bad); err == nil || !strings.Contains(err.Error(), "p.sms.aliyun.params.x") {
		t.Errorf("error %v does not name the template", err)
	}
	if _, err := aliyun.New(config("localhost:9000")); err == nil || !strings.Contains(err.Error(), "endpoint") {
		t.Errorf("error %v does not name the endpoint", err)
	}
}

// question is about the message of the tests, sent at some time.
func question(at time.Time) push.Question {
	return push.Question{
		Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "10248", Action: push.SMS},
		Round:    1, Provider: aliyun.Provider, Phone: "+8613800138000", IntentAt: at,
	}
}

func TestFindByOutID(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 15, 59, 59, 0, time.UTC) // a second before midnight in Beijing
	now := at
	box := channeltest.NewSandbox(t, provider.Config{Now: func() time.Time { return now }})
	cfg := config(box.URL())
	cfg.Now = func() time.Time { return now }
	sender := newSender(t, cfg)
	q := question(at)

	if got, err := sender.Find(context.Background(), q); got.Found || err != nil {
		t.Errorf("found %v, %v before anything was sent", got.Found, err)
	}
	m := message()
	for i := range 60 { // another page of other messages to the same number
		m.Reference = strings.Repeat("x", i+1)
		if _, err := sender.Send(context.Background(), m); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := sender.Find(context.Background(), q); got.Found || err != nil {
		t.Errorf("found %v, %v among other messages", got.Found, err)
	}
	now = at.Add(2 * time.Second) // taken on the next day
	m.Reference = q.Reference(1)
	if _, err := sender.Send(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	if got, err := sender.Find(context.Background(), q); !got.Found || err != nil {
		t.Errorf("found %v, %v, want the send of the next day", got.Found, err)
	}
	q.Round = 2
	if got, err := sender.Find(context.Background(), q); got.Found || err != nil {
		t.Errorf("found %v, %v of another round", got.Found, err)
	}
}

func TestFindReadsAllPages(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	sender := newSender(t, config(box.URL()))
	q, m := question(time.Now()), message()
	m.Reference = q.Reference(1)
	for i := range 120 { // the oldest is on the last page
		if _, err := sender.Send(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		m.Reference = strings.Repeat("x", i+1)
	}
	if got, err := sender.Find(context.Background(), q); !got.Found || err != nil {
		t.Errorf("found %v, %v, want it on the third page", got.Found, err)
	}
}

func TestFindFailsCleanly(t *testing.T) {
	t.Parallel()
	for _, f := range []provider.Fault{
		{Kind: provider.Refuse, Code: "isv.MOBILE_NUMBER_ILLEGAL", Message: "13800138000手机号码格式错误"},
		{Kind: provider.Reset},
		{Kind: provider.Answer, Status: 500, Body: "oops 13800138000"},
		{Kind: provider.Answer, Body: `{"Code":"OK","SmsSendDetailDTOs":7}`},
	} {
		f.Call = provider.CallQuery
		box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{f}})
		got, err := newSender(t, config(box.URL())).Find(context.Background(), question(time.Now()))
		if got.Found || err == nil || strings.Contains(err.Error(), "13800138000") {
			t.Errorf("%s: found %v, %v; want a clean error", f.Kind, got.Found, err)
		}
	}
}

// Ids and counts may come as texts or numbers, and every digit counts. A code is a text: a number there is none.
func TestAnswersAreReadWhateverTheirTypes(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		class push.Class
		code  string
		id    string
	}{
		`{"Code":"OK","BizId":"900619746936498440^0"}`:              {push.Accepted, "", "900619746936498440^0"},
		`{"Code":"OK","BizId":9007199254740993}`:                    {push.Accepted, "", "9007199254740993"},
		`{"Code":"OK"}`:                                             {push.Accepted, "", ""},
		`{"Code":"OK","BizId":{"a":1}}`:                             {push.Accepted, "", ""},
		`{"Code":"isv.AMOUNT_NOT_ENOUGH","Message":"账户余额不足"}`:       {push.Account, "isv.AMOUNT_NOT_ENOUGH", ""},
		`{"Code":"isv.MOBILE_NUMBER_ILLEGAL","BizId":"1","x":[{}]}`: {push.Permanent, "isv.MOBILE_NUMBER_ILLEGAL", ""},
		`{"Code":"","BizId":"1"}`:                                   {push.Ambiguous, "answer_without_code", ""},
		`{"Code":0,"BizId":"1"}`:                                    {push.Ambiguous, "answer_without_code", ""},
		`{"Code":null}`:                                             {push.Ambiguous, "answer_without_code", ""},
		`{"code":"isv.OUT_OF_SERVICE"}`:                             {push.Account, "isv.OUT_OF_SERVICE", ""},
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: provider.Answer, Body: body}}})
			accepted, err := newSender(t, config(box.URL())).Send(context.Background(), message())
			class, code := push.Accepted, ""
			if err != nil {
				class, code = push.FailureOf(err).Class, push.FailureOf(err).Code
			}
			if class != want.class || code != want.code || accepted.MessageID != want.id {
				t.Errorf("%s %s with id %q, want %+v: %v", class, code, accepted.MessageID, want, err)
			}
		})
	}
}

func TestFindReadsCountsWhateverTheirType(t *testing.T) {
	t.Parallel()
	q := question(time.Now())
	for _, total := range []string{`1`, `"1"`, `null`} {
		body := `{"Code":"OK","TotalCount":` + total + `,"SmsSendDetailDTOs":{"SmsSendDetailDTO":[{"OutId":"` + q.Reference(1) + `"}]}}`
		box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Call: provider.CallQuery, Kind: provider.Answer, Body: body}}})
		if got, err := newSender(t, config(box.URL())).Find(context.Background(), q); !got.Found || err != nil {
			t.Errorf("TotalCount %s: found %v, %v", total, got.Found, err)
		}
	}
}

func TestPreviewIsTheRequest(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	sender := newSender(t, config(box.URL()))
	preview, err := sender.Preview(message())
	const want = `{"OutId":"0123456789abcdef0123456789abcdef","PhoneNumbers":"13800138000","SignName":"某公司",` +
		`"TemplateCode":"SMS_10001","TemplateParam":"{\"code\":\"493817\",\"company\":\"Acme & <Söhne>\"}"}`
	if err != nil || string(preview) != want || box.Requests(provider.Aliyun, provider.CallSend) != 0 {
		t.Errorf("preview %s, %v; want %s and no request", preview, err, want)
	}
	m := message()
	delete(m.Vars, "code")
	if _, err := sender.Preview(m); push.FailureOf(err).Code != "template_variable_missing" {
		t.Errorf("%v, want a refusal", err)
	}
}

// Aliyun allows 5,000 questions a second to an account: one process keeps to a fifth of it.
func TestFindStaysWithinAFifthOfTheLimit(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	s := newSender(t, config(box.URL()))
	began := time.Now()
	const asks = 51
	var all sync.WaitGroup
	for range asks {
		all.Go(func() {
			if _, err := s.Find(context.Background(), question(time.Now())); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("%d questions in %v", asks, took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Find(ctx, question(time.Now())); err == nil {
		t.Error("a question without time for it is no error")
	}
}
