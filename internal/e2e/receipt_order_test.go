package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// words is what a provider says later of one message, and what the row must say in the end.
type words struct {
	rule provider.ReceiptRule
	want push.Status
	code bool // the row has the carrier's code
	late int  // words that came after the last one that counts
}

// everyOrder lists receipts before the answer is stored, twice, and out of order; code is a carrier's. Of two words
// that contradict each other the first that finds its delivery is the last that counts.
func everyOrder(code string) []words {
	return []words{
		{rule: provider.ReceiptRule{Early: true, Times: 2}, want: push.Delivered},
		{rule: provider.ReceiptRule{Early: true, Times: 2, Code: code}, want: push.Undelivered, code: true},
		{rule: provider.ReceiptRule{Early: true, Then: code}, want: push.Delivered, late: 1},
		{rule: provider.ReceiptRule{Times: 2, Then: code}, want: push.Delivered, late: 1},
		{rule: provider.ReceiptRule{Times: 2, Code: code, Then: "delivered"}, want: push.Undelivered, code: true, late: 1},
	}
}

// TestReceiptsInEveryOrder: before the send is answered, twice, and contradicting each other, at each provider. Each
// row ends as the words ask for, each word is kept once, a failed one is counted by its carrier's code, and nothing is
// sent because of it.
func TestReceiptsInEveryOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider, code, label string
		ext                   bool
	}{
		"aliyun":                          {provider.Aliyun, "MK:0001", "MK", false},
		"tencent":                         {provider.Tencent, "UNDELIV", "UNDELIV", false},
		"tencent, carrying our reference": {provider.Tencent, "UNDELIV", "UNDELIV", true},
		"wechat":                          {provider.WeChat, "user_block", "user_block", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 1)
			s.patient()
			withReceipts(s)
			action := push.SMS
			switch c.provider {
			case provider.Tencent:
				byTencent(s)
			case provider.WeChat:
				action = push.WeChat
			}
			p, _ := s.run()
			list := everyOrder(c.code)
			how, posted := provider.Receipts{Ext: c.ext, Delay: provider.Duration(200 * time.Millisecond)}, 0
			for i, w := range list {
				w.rule.Recipient = recipientOf(c.provider, i)
				how.Rules, posted = append(how.Rules, w.rule), posted+max(w.rule.Times, 1)*(1+min(len(w.rule.Then), 1))
			}
			s.told(p, how)
			for i := range list {
				s.write(event(i, fmt.Sprintf(`"actions":[%q],`, action)))
			}
			s.eventually("all is said", func() bool { return s.sandbox.Posted().Taken == posted })
			s.eventually("all is matched", func() bool {
				s.pass()
				return s.number(`SELECT count(*) FROM push_receipt WHERE matched_at IS NULL`) == 0
			})
			for i, w := range list {
				s.checkWords(i, w, c.code)
			}
			failed := s.number(`SELECT count(*) FROM push_receipt WHERE status = 'undelivered'`)
			want := fmt.Sprintf(`pusher_receipt_failures_total{code=%q,provider=%q}`, c.label, c.provider)
			// What the compensator matches, its own process counts.
			if _, shown := get(t, "http://"+p.Addr()+"/metrics"); failed != 4 || !strings.Contains(shown, want) {
				t.Errorf("%d failed receipts are kept, want 4, counted as %s", failed, want)
			}
			s.accepted(len(list))
			if got := s.sandbox.Requests(c.provider, provider.CallSend); got != len(list) || s.number(`SELECT count(*) FROM push_log WHERE attempt <> 1`) != 0 {
				t.Errorf("%d requests for %d messages: a failed receipt triggers nothing", got, len(list))
			}
		})
	}
}

// checkWords looks at one row and at its receipts.
func (s *system) checkWords(id int, w words, code string) {
	s.t.Helper()
	var status, said string
	var late, repeated int
	if err := s.db.QueryRow(s.t.Context(), `
		SELECT status, coalesce(error_code, ''),
			(SELECT count(*) FROM push_receipt r WHERE r.delivery_id = l.id AND effect = 'late'),
			(SELECT coalesce(sum(repeats), 0) FROM push_receipt r WHERE r.delivery_id = l.id)
		FROM push_log l WHERE biz_id = $1`, strconv.Itoa(id)).Scan(&status, &said, &late, &repeated); err != nil {
		s.t.Fatal(err)
	}
	wantCode, wantRepeats := "", 0
	if w.code {
		wantCode = code
	}
	if w.rule.Times > 1 {
		wantRepeats = 1 + min(len(w.rule.Then), 1)
	}
	if status != string(w.want) || said != wantCode || late != w.late || repeated != wantRepeats {
		s.t.Errorf("%+v: the row is %s %q with %d late words and %d repeats, want %s %q, %d, %d",
			w.rule, status, said, late, repeated, w.want, wantCode, w.late, wantRepeats)
	}
}

// recipientOf is the recipient of event id as a provider's wire has it.
func recipientOf(name string, id int) string {
	switch name {
	case provider.Aliyun:
		return strings.TrimPrefix(phone(id), "+86")
	case provider.Tencent:
		return phone(id)
	}
	return fmt.Sprintf("oOPENID%020d", id)
}
