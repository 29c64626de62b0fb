package receipts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"pusher/internal/push"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "a-secret-path-of-the-test"

// pushLog keeps receipts in memory and finds a delivery for each message id that it knows.
type pushLog struct {
	keep, match error // what the calls fail with

	mu       sync.Mutex // guards what follows
	kept     []push.Receipt
	due      []int64
	sent     []string // message ids that have a delivery
	counts   map[string]int
	reported []push.Matched
}

func (l *pushLog) KeepReceipts(_ context.Context, receipts []push.Receipt) ([]push.Kept, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keep != nil {
		return nil, l.keep
	}
	var kept []push.Kept
	for _, r := range receipts {
		at := slices.IndexFunc(l.kept, func(o push.Receipt) bool { return string(o.Digest) == string(r.Digest) })
		if at >= 0 {
			kept = append(kept, push.Kept{ID: int64(at), Repeated: true})
			continue
		}
		kept = append(kept, push.Kept{ID: int64(len(l.kept))})
		l.due = append(l.due, int64(len(l.kept)))
		l.kept = append(l.kept, r)
	}
	return kept, nil
}

func (l *pushLog) MatchReceipts(_ context.Context, _ int, ids []int64) ([]push.Matched, int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.match != nil {
		return nil, 0, l.match
	}
	var matched []push.Matched
	looked := 0
	for _, id := range ids {
		if at := slices.Index(l.due, id); at >= 0 {
			l.due = slices.Delete(l.due, at, at+1)
			looked++
			if r := l.kept[id]; slices.Contains(l.sent, r.MessageID) {
				matched = append(matched, push.Matched{DeliveryID: 1, Provider: r.Provider, Report: r.Report, Effect: push.EffectSettled, Code: r.Code})
			}
		}
	}
	return matched, looked, nil
}

func (l *pushLog) Receipts(provider, outcome string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.counts[provider+" "+outcome] += n
}

func (l *pushLog) Matched(m push.Matched) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reported = append(l.reported, m)
}

// now is the time of every test.
var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// open makes the doors; with changes its settings.
func open(t *testing.T, log *pushLog, with ...func(*Config)) http.Handler {
	t.Helper()
	c := Config{
		SecretPath: secret, WeChat: WeChat{Token: "token", AppID: "wx1"}, Region: "CN", HashKey: []byte("a key of sixteen"),
		Log: zerolog.Nop(), Meter: log, Now: func() time.Time { return now },
	}
	for _, change := range with {
		change(&c)
	}
	doors, err := New(c, log)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	doors.Hang(mux)
	return mux
}

// call sends one request from 203.0.113.9 and returns status and body.
func call(h http.Handler, method, path, body string, headers ...string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = "203.0.113.9:4321"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const aliyunBody = `[{"phone_number":"13800138000","send_time":"2026-03-04 13:06:00","report_time":"2026-03-04 13:06:05",` +
	`"success":true,"err_code":"DELIVERED","err_msg":"用户接收成功","sms_size":"1","biz_id":"900000000000000001^0","out_id":"ref1"},` +
	`{"phone_number":8613800138001,"report_time":"2026-03-04 13:06:05","success":"false","err_code":"MK:0001",` +
	`"err_msg":"13800138001 is off","biz_id":900719925474099312345}]`

func TestAliyunReceipts(t *testing.T) {
	t.Parallel()
	log := &pushLog{sent: []string{"900719925474099312345"}}
	status, answer := call(open(t, log), "POST", "/receipts/aliyun/"+secret, aliyunBody)
	if status != 200 || answer != `{"code":0,"msg":"接收成功"}` {
		t.Fatalf("answered %d %s", status, answer)
	}
	if len(log.kept) != 2 {
		t.Fatalf("kept %+v", log.kept)
	}
	first, second := log.kept[0], log.kept[1]
	if first.Report != push.ReportDelivered || first.MessageID != "900000000000000001^0" || first.Reference != "ref1" ||
		first.Code != "DELIVERED" || first.Recipient != push.Mask("+8613800138000") ||
		string(first.RecipientHash) != string(push.HashRecipient("+8613800138000", []byte("a key of sixteen"))) ||
		!first.ReportedAt.Equal(time.Date(2026, 3, 4, 5, 6, 5, 0, time.UTC)) {
		t.Errorf("first: %+v", first)
	}
	if second.Report != push.ReportUndelivered || second.MessageID != "900719925474099312345" || second.Code != "MK:0001" {
		t.Errorf("second: %+v", second)
	}
	if log.counts["aliyun new"] != 2 || log.counts["aliyun unmatched"] != 1 || len(log.reported) != 1 || log.reported[0].Code != "MK:0001" {
		t.Errorf("counted %v, %+v", log.counts, log.reported)
	}
}

const tencentBody = `[{"user_receive_time":"2026-03-04 13:06:05","nationcode":"86","mobile":"13800138000","report_status":"SUCCESS",` +
	`"errmsg":"DELIVRD","description":"用户短信送达成功","sid":"2433:1","ext":"ref1"},` +
	`{"mobile":"13800138001","report_status":"FAIL","errmsg":"UNDELIV","description":"to 13800138001","sid":"2433:2"}]`

func TestTencentReceipts(t *testing.T) {
	t.Parallel()
	log := &pushLog{}
	status, answer := call(open(t, log), "POST", "/receipts/tencent/"+secret, tencentBody)
	if status != 200 || answer != `{"result":0,"errmsg":"OK"}` {
		t.Fatalf("answered %d %s", status, answer)
	}
	var told []string
	for _, r := range log.kept {
		told = append(told, fmt.Sprint(r.Report, r.MessageID, r.Reference, r.Code, string(r.RecipientHash) ==
			string(push.HashRecipient("+8613800138000", []byte("a key of sixteen")))))
	}
	if want := []string{"delivered2433:1ref1DELIVRDtrue", "undelivered2433:2UNDELIVfalse"}; !slices.Equal(told, want) {
		t.Errorf("kept %q, want %q", told, want)
	}
}

// TestNoRecipientIsKeptWhole: neither in what is read nor in what nobody can read.
func TestNoRecipientIsKeptWhole(t *testing.T) {
	t.Parallel()
	log := &pushLog{}
	h := open(t, log)
	call(h, "POST", "/receipts/aliyun/"+secret, aliyunBody)
	call(h, "POST", "/receipts/tencent/"+secret, tencentBody)
	call(h, "POST", "/receipts/aliyun/"+secret, `{"phone_number":"13800138000"}`)
	call(h, "POST", "/receipts/tencent/"+secret, `[{"mobile":"13800138000"}]`)
	call(h, "POST", signedURL("token", now), event("success"))
	call(h, "POST", signedURL("token", now), event("what?"))
	call(h, "POST", signedURL("token", now), strings.TrimSuffix(event("success"), "</xml>"))
	if len(log.kept) != 9 {
		t.Errorf("%d kept, want 9", len(log.kept))
	}
	for _, r := range log.kept {
		all := fmt.Sprintf("%+v", r)
		if strings.Contains(all, "1380013800") || strings.Contains(all, openid) || r.Raw == "" {
			t.Errorf("whole: %s", all)
		}
	}
}

func TestRepeatedReceiptsAreCountedAndNotMatchedAgain(t *testing.T) {
	t.Parallel()
	log := &pushLog{sent: []string{"900000000000000001^0"}}
	h := open(t, log)
	for range 3 {
		if status, _ := call(h, "POST", "/receipts/aliyun/"+secret, aliyunBody); status != 200 {
			t.Errorf("status %d", status)
		}
	}
	if log.counts["aliyun new"] != 2 || log.counts["aliyun repeated"] != 4 || len(log.reported) != 1 {
		t.Errorf("counted %v, matched %d", log.counts, len(log.reported))
	}
}

// TestWhatIsNotStoredIsNotAccepted: the provider sends it again; what is stored and not matched is the compensator's.
func TestWhatIsNotStoredIsNotAccepted(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{
		"/receipts/aliyun/" + secret: aliyunBody, "/receipts/tencent/" + secret: tencentBody, signedURL("token", now): event("success"),
	} {
		log := &pushLog{keep: errors.New("postgres is away")}
		h := open(t, log)
		status, answer := call(h, "POST", path, body)
		if status != 500 || strings.Contains(answer, ":0") || answer == wechatYes {
			t.Errorf("%s: answered %d %s to what is lost", path, status, answer)
		}
		log.keep, log.match = nil, errors.New("postgres is away")
		if status, answer := call(h, "POST", path, body); status != 200 {
			t.Errorf("%s: answered %d %s to what is stored", path, status, answer)
		}
	}
}

func TestUnreadableReceiptsAreKeptAndTheOthersCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body             string
		status           int
		kept, unreadable int
	}{
		"one of two":    {`[{"success":true,"biz_id":"1"},{"success":"perhaps","biz_id":"2"}]`, 200, 2, 1},
		"no message":    {`[{"success":true}]`, 200, 1, 1},
		"nested":        {`[{"success":true,"biz_id":{"a":1}}]`, 200, 1, 1},
		"number in it":  {`[7,null]`, 200, 2, 2},
		"empty":         {`[]`, 200, 0, 0},
		"no array":      {`{"success":true,"biz_id":"1"}`, 400, 1, 1},
		"no JSON":       {`<xml/>`, 400, 1, 1},
		"nothing":       {``, 400, 1, 1},
		"far too many":  {"[" + strings.Repeat(`{},`, maxItems) + "{}]", 400, 1, 1},
		"far too large": {strings.Repeat(" ", maxBody+1), 413, 0, 0},
	} {
		log := &pushLog{}
		status, _ := call(open(t, log), "POST", "/receipts/aliyun/"+secret, c.body)
		if status != c.status || len(log.kept) != c.kept || log.counts["aliyun unreadable"] != c.unreadable {
			t.Errorf("%s: %d, %d kept, counted %v; want %+v", name, status, len(log.kept), log.counts, c)
		}
	}
}

func TestGuardOfTheSMSDoors(t *testing.T) {
	t.Parallel()
	provider, proxy := netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("10.0.0.0/8")
	for name, c := range map[string]struct {
		secret  string
		allow   []netip.Prefix
		proxies []netip.Prefix
		path    string
		from    string
		forward []string
		want    int
	}{
		"secret":                        {secret, nil, nil, "/" + secret, "198.51.100.1:1", nil, 200},
		"wrong secret":                  {secret, nil, nil, "/" + secret + "x", "203.0.113.9:1", nil, 404},
		"no secret":                     {secret, nil, nil, "", "203.0.113.9:1", nil, 404},
		"no guard, no door":             {"", nil, nil, "", "203.0.113.9:1", nil, 404},
		"address":                       {"", []netip.Prefix{provider}, nil, "", "203.0.113.9:1", nil, 200},
		"mapped address":                {"", []netip.Prefix{provider}, nil, "", "[::ffff:203.0.113.9]:1", nil, 200},
		"other address":                 {"", []netip.Prefix{provider}, nil, "", "198.51.100.1:1", nil, 403},
		"no address":                    {"", []netip.Prefix{provider}, nil, "", "@", nil, 403},
		"secret from elsewhere":         {secret, []netip.Prefix{provider}, nil, "/" + secret, "198.51.100.1:1", nil, 403},
		"claims to be forwarded":        {"", []netip.Prefix{provider}, nil, "", "198.51.100.1:1", []string{"203.0.113.9"}, 403},
		"behind our proxy":              {"", []netip.Prefix{provider}, []netip.Prefix{proxy}, "", "10.1.1.1:1", []string{"203.0.113.9"}, 200},
		"behind two of our proxies":     {"", []netip.Prefix{provider}, []netip.Prefix{proxy}, "", "10.1.1.1:1", []string{"203.0.113.9, 10.2.2.2"}, 200},
		"in two headers":                {"", []netip.Prefix{provider}, []netip.Prefix{proxy}, "", "10.1.1.1:1", []string{"198.51.100.1", "203.0.113.9"}, 200},
		"forged in front of our proxy":  {"", []netip.Prefix{provider}, []netip.Prefix{proxy}, "", "10.1.1.1:1", []string{"203.0.113.9, 198.51.100.1"}, 403},
		"proxy that names nobody":       {"", []netip.Prefix{provider}, []netip.Prefix{proxy}, "", "10.1.1.1:1", nil, 403},
		"proxy that names no address":   {"", []netip.Prefix{provider}, []netip.Prefix{proxy}, "", "10.1.1.1:1", []string{"203.0.113.9, unknown"}, 403},
		"proxies all the way, an empty": {"", []netip.Prefix{provider}, []netip.Prefix{proxy}, "", "10.1.1.1:1", []string{"10.3.3.3"}, 403},
	} {
		log := &pushLog{}
		h := open(t, log, func(cfg *Config) { cfg.SecretPath, cfg.Allow, cfg.Proxies = c.secret, c.allow, c.proxies })
		for _, p := range []string{aliyun, tencent} {
			r := httptest.NewRequest("POST", "/receipts/"+p+c.path, strings.NewReader("[]"))
			r.RemoteAddr = c.from
			for _, hop := range c.forward {
				r.Header.Add("X-Forwarded-For", hop)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("%s: %s answered %d, want %d", name, p, w.Code, c.want)
			}
		}
		if len(log.kept) > 0 {
			t.Errorf("%s: kept %+v", name, log.kept)
		}
	}
}
