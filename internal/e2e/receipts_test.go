package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"pusher/internal/assemble"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

const (
	receiptSecret = "the-secret-path-of-the-tests"
	wechatAESKey  = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
)

// withReceipts opens the doors and keys the hashes by which WeChat's receipts find their recipients.
func withReceipts(s *system) {
	s.cfg.Privacy.HashKey = "a key of sixteen"
	s.cfg.Receipts.SecretPath = receiptSecret
	s.cfg.Receipts.Allow = []string{"127.0.0.1"}
	s.cfg.Receipts.WeChat.Token = "token"
}

// told makes the providers post their receipts to p.
func (s *system) told(p *assemble.Pusher, how provider.Receipts) {
	s.t.Helper()
	how.URLs = map[string]string{
		provider.Aliyun:  "http://" + p.Addr() + "/receipts/aliyun/" + receiptSecret,
		provider.Tencent: "http://" + p.Addr() + "/receipts/tencent/" + receiptSecret,
		provider.WeChat:  "http://" + p.Addr() + "/receipts/wechat",
	}
	if how.Token == "" {
		how.Token = "token"
	}
	if how.Retry == 0 {
		how.Retry = provider.Duration(100 * time.Millisecond)
	}
	if err := s.sandbox.SetReceipts(how); err != nil {
		s.t.Fatal(err)
	}
}

// byTencent makes Tencent the SMS provider.
func byTencent(s *system) {
	sms := &s.cfg.Channels.SMS
	sms.Providers = []string{config.ProviderTencent}
	sms.Tencent.SecretID, sms.Tencent.SecretKey = provider.DefaultKeyID, provider.DefaultSecret
	sms.Tencent.SDKAppID, sms.Tencent.SignName = "1400000000", "Test"
	p := s.cfg.Pushes["resume_viewed"]
	p.Actions.SMS = &config.SMSTemplates{Tencent: &config.TencentTemplate{Template: "20001", Params: []string{"{{.company}}"}}}
	s.cfg.Pushes["resume_viewed"] = p
}

// phone is the number of event id as providers see it.
func phone(id int) string {
	return "+86138" + strings.Repeat("0", 8-len(strconv.Itoa(id))) + strconv.Itoa(id)
}

// TestReceiptsTellWhatArrived: every third SMS fails at the carrier, every receipt comes twice; the rows say which.
func TestReceiptsTellWhatArrived(t *testing.T) {
	t.Parallel()
	for name, tencent := range map[string]bool{provider.Aliyun: false, provider.Tencent: true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 2)
			withReceipts(s)
			if tencent {
				byTencent(s)
			}
			p, _ := s.run()
			const n = 30
			how := provider.Receipts{}
			for i := range n {
				rule := provider.ReceiptRule{Recipient: phone(i), Times: 2}
				if i%3 == 0 {
					rule.Code = "MK:0001"
				}
				bare := rule
				bare.Recipient = strings.TrimPrefix(rule.Recipient, "+86")
				how.Rules = append(how.Rules, rule, bare)
			}
			s.told(p, how)
			for i := range n {
				s.write(event(i, `"actions":["sms"],`))
			}
			s.eventually("each has its last word", func() bool {
				s.pass()
				got := s.statuses()
				return got["sms delivered"] == n*2/3 && got["sms undelivered"] == n/3
			})
			s.eventually("the repeats came", func() bool { return s.sandbox.Posted().Taken == 2*n })
			if got := s.number(`SELECT count(*) FROM push_receipt WHERE repeats = 1 AND effect = 'settled'`); got != n {
				t.Errorf("%d receipts came twice and count once, want %d", got, n)
			}
			if got := s.number(`SELECT count(*) FROM push_log WHERE status = 'undelivered' AND error_code = 'MK:0001'`); got != n/3 {
				t.Errorf("%d rows have the carrier's code, want %d", got, n/3)
			}
			if whole := s.number(`SELECT count(*) FROM push_receipt WHERE concat_ws(' ', raw, message, recipient) ~ '138[0-9]{8}'`); whole != 0 {
				t.Errorf("%d receipts keep a whole phone", whole)
			}
			if got := s.sandbox.Requests(name, provider.CallSend); got != n {
				t.Errorf("%d send requests, want %d: a failed receipt triggers nothing", got, n)
			}
		})
	}
}

// TestEarlyReceiptIsParkedAndMatched: Tencent's callback comes before its answer, and names nothing that is stored yet.
func TestEarlyReceiptIsParkedAndMatched(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	withReceipts(s)
	byTencent(s)
	p, _ := s.run()
	s.told(p, provider.Receipts{Rules: []provider.ReceiptRule{{Early: true}}})
	s.write(event(1, `"actions":["sms"],`))
	s.settled(1, push.Sent)
	if got := s.number(`SELECT count(*) FROM push_receipt WHERE matched_at IS NULL AND next_match_at IS NOT NULL`); got != 1 {
		t.Fatalf("%d receipts parked, want 1", got)
	}
	matched := 0
	s.eventually("the compensator matches it", func() bool { matched += s.pass().Receipts; return matched == 1 })
	s.settled(1, push.Delivered)
}

// TestReceiptSettlesUnknown: the provider takes the SMS and never answers; its receipt says what became of it, and
// nobody asks or sends again.
func TestReceiptSettlesUnknown(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	withReceipts(s)
	s.cfg.Channels.SMS.AskFor = time.Hour
	if err := s.sandbox.SetFaults([]provider.Fault{{Provider: provider.Aliyun, Kind: provider.AcceptThenStall}}); err != nil {
		t.Fatal(err)
	}
	p, _ := s.run()
	s.told(p, provider.Receipts{Delay: provider.Duration(3 * time.Second), Rules: []provider.ReceiptRule{
		{Recipient: strings.TrimPrefix(phone(2), "+86"), Code: "UNDELIV"}, {Recipient: phone(2), Code: "UNDELIV"},
	}})
	s.write(event(1, `"actions":["sms"],`), event(2, `"actions":["sms"],`))
	s.settled(2, push.Unknown)
	s.settled(1, push.Delivered)
	s.settled(1, push.Undelivered)
	if got := s.number(`SELECT count(*) FROM push_log WHERE provider_msg_id LIKE '90000000000%' AND sent_at IS NOT NULL`); got != 2 {
		t.Errorf("%d rows know the provider's id, want 2", got)
	}
	s.pass()
	if sends, asks := s.sandbox.Requests(provider.Aliyun, provider.CallSend), s.sandbox.Requests(provider.Aliyun, provider.CallQuery); sends != 2 || asks != 0 {
		t.Errorf("%d sends and %d questions, want 2 and 0", sends, asks)
	}
}

// TestWeChatReceiptsInBothModes: signed in plain, and signed and encrypted.
func TestWeChatReceiptsInBothModes(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"plain": "", "encrypted": wechatAESKey} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 1)
			withReceipts(s)
			s.cfg.Receipts.WeChat.EncodingAESKey = config.Secret(key)
			p, _ := s.run()
			s.told(p, provider.Receipts{AESKey: key, Rules: []provider.ReceiptRule{
				{Recipient: "oOPENID00000000000000000002", Code: "user_block"}, {Recipient: "oOPENID00000000000000000003", Early: true},
			}})
			s.write(event(1, `"actions":["wechat"],`), event(2, `"actions":["wechat"],`), event(3, `"actions":["wechat"],`))
			s.eventually("each has its last word", func() bool {
				s.pass()
				got := s.statuses()
				return got["wechat delivered"] == 2 && got["wechat undelivered"] == 1
			})
			if got := s.number(`SELECT count(*) FROM push_log WHERE error_code = 'user_block'`); got != 1 {
				t.Errorf("%d rows say why, want 1", got)
			}
			if whole := s.number(`SELECT count(*) FROM push_receipt WHERE concat_ws(' ', raw, message, recipient) ~ 'oOPENID0000'`); whole != 0 {
				t.Errorf("%d receipts keep a whole openid", whole)
			}
		})
	}
}

// TestForgedReceiptsChangeNothing: a wrong secret, another address behind nobody's proxy, a wrong token.
func TestForgedReceiptsChangeNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	withReceipts(s)
	p, _ := s.run()
	s.write(event(1, `"actions":["sms","wechat"],`))
	s.settled(2, push.Sent)
	s.told(p, provider.Receipts{Token: "another"})
	s.write(event(2, `"actions":["wechat"],`))
	s.eventually("the forged one is refused four times", func() bool { return s.sandbox.Posted().Refused == 4 })
	var id string
	if err := s.db.QueryRow(t.Context(), `SELECT provider_msg_id FROM push_log WHERE action = 'sms'`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	body := `[{"phone_number":"13800000001","success":false,"err_code":"X","biz_id":"` + id + `"}]`
	for path, want := range map[string]int{
		"/receipts/aliyun": 404, "/receipts/aliyun/guess": 404, "/receipts/tencent/guess": 404, "/receipts/wechat": 403,
	} {
		answer, err := http.Post("http://"+p.Addr()+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s answered %d, want %d", path, answer.StatusCode, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	s.settled(3, push.Sent)
	if got := s.number(`SELECT count(*) FROM push_receipt`); got != 0 {
		t.Errorf("%d receipts are kept, want none", got)
	}
}
