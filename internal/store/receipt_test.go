package store_test

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pusher/internal/push"
)

// ofMessage is a receipt of Aliyun's about a message id.
func ofMessage(id string, report push.Report) push.Receipt {
	r := push.Receipt{
		Provider: "aliyun", Report: report, MessageID: id, Recipient: "138******00", Code: "DELIVERED",
		ReportedAt: time.Now(), Raw: `{"biz_id":"` + id + `"}`,
	}
	if report == push.ReportUndelivered {
		r.Code, r.Message = "MK:0001", "the phone is off"
	}
	return signed(r)
}

// ofReference is a receipt that names our reference too.
func ofReference(reference, id string, report push.Report) push.Receipt {
	r := ofMessage(id, report)
	r.Reference = reference
	return signed(r)
}

// signed gives a receipt its digest.
func signed(r push.Receipt) push.Receipt {
	sum := sha256.Sum256(fmt.Append(nil, r.Provider, r.MessageID, r.Reference, r.Recipient, r.Report, r.Code))
	r.Digest = sum[:]
	return r
}

// receive stores receipts and matches what is due until nothing is, and says what each match did.
func (r rows) receive(t *testing.T, receipts ...push.Receipt) string {
	t.Helper()
	if _, err := r.KeepReceipts(t.Context(), receipts); err != nil {
		t.Fatal(err)
	}
	return r.match(t)
}

// match matches what is due until nothing is.
func (r rows) match(t *testing.T) string {
	t.Helper()
	var told []string
	for {
		matched, looked, err := r.MatchReceipts(t.Context(), 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range matched {
			told = append(told, fmt.Sprintf("%s %s", m.Report, m.Effect))
		}
		if looked == 0 {
			return strings.Join(told, ", ")
		}
	}
}

// due makes every parked receipt due again.
func (r rows) due(t *testing.T) {
	t.Helper()
	if _, err := r.db.Exec(t.Context(), "UPDATE push_receipt SET next_match_at = now() - interval '1 s' WHERE next_match_at IS NOT NULL"); err != nil {
		t.Fatal(err)
	}
}

// reference is what the row holds as its reference.
func (r rows) reference(t *testing.T, id int64) string {
	t.Helper()
	return r.say(t, id, "reference")
}

// TestReferenceInTheLogIsTheOneGivenToProviders: each round's row and push.Identity.Reference say the same, in-app rows
// nothing; and so does the function that later rounds are opened with.
func TestReferenceInTheLogIsTheOneGivenToProviders(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, id := range []push.Identity{
		{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "10248", Action: push.SMS},
		{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "10248", Action: push.WeChat},
		{BizType: "a.b-c_D", RuleVersion: "v12", DedupID: "a%3Ab,简历", Action: push.SMS},
	} {
		as := func(in *push.Intent) { in.Delivery.Identity = id }
		for round := 1; round <= 3; round++ {
			days := time.Duration(round-1) * 25 * time.Hour // each after the window of the one before
			row := r.intend(t, "w", as, recorded(time.Now().Add(days)))
			if got, want := r.reference(t, row.ID), id.Reference(round); row.Round != round || got != want {
				t.Errorf("%+v round %d: %s in the log as round %d, %s to the provider", id, round, got, row.Round, want)
			}
			r.record(t, row, push.Accepted)
		}
	}
	if row := r.intend(t, "w", of(push.Notify)); r.reference(t, row.ID) != "" {
		t.Errorf("an in-app row has the reference %s, which nobody is given", r.reference(t, row.ID))
	}
}

// TestReceiptMovesForwardOnly is the table of statuses: what a delivered and an undelivered receipt, found by our
// reference, make of each (rule P1 for what is not settled).
func TestReceiptMovesForwardOnly(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, c := range []struct {
		was                    push.Status
		delivered, undelivered string
		afterGood, afterBad    push.Status
	}{
		{push.Sending, "delivered settled", "", push.Delivered, push.Sending},
		{push.Queued, "delivered settled", "undelivered settled", push.Delivered, push.Undelivered},
		{push.Failed, "delivered settled", "undelivered settled", push.Delivered, push.Undelivered},
		{push.Deferred, "delivered settled", "undelivered settled", push.Delivered, push.Undelivered},
		{push.Unknown, "delivered settled", "undelivered settled", push.Delivered, push.Undelivered},
		{push.Sent, "delivered settled", "undelivered settled", push.Delivered, push.Undelivered},
		{push.Delivered, "delivered late", "undelivered late", push.Delivered, push.Delivered},
		{push.Undelivered, "delivered late", "undelivered late", push.Undelivered, push.Undelivered},
		{push.Dead, "delivered late", "undelivered late", push.Dead, push.Dead},
		{push.Expired, "delivered late", "undelivered late", push.Expired, push.Expired},
		{push.Skipped, "delivered late", "undelivered late", push.Skipped, push.Skipped},
	} {
		for report, want := range map[push.Report]struct {
			effect string
			after  push.Status
		}{push.ReportDelivered: {c.delivered, c.afterGood}, push.ReportUndelivered: {c.undelivered, c.afterBad}} {
			id := r.put(t, push.SMS, c.was, ended(c.was))
			got := r.receive(t, ofReference(r.reference(t, id), fmt.Sprintf("%s-%s", c.was, report), report))
			if got != want.effect {
				t.Errorf("%s on %s: %q, want %q", report, c.was, got, want.effect)
			}
			r.must(t, id, string(want.after), "status")
			if want.after == push.Undelivered && c.was != push.Undelivered {
				r.must(t, id, "MK:0001 the phone is off", "error_code", "error_message")
			}
		}
	}
}

// ended fills in what a settled row needs and usual leaves out.
func ended(s push.Status) columns {
	done := columns{"attempt": "1", "owner": "'w1'", "intent_at": "now()", "settled_at": "now()", "recipient_full": "NULL"}
	switch s {
	case push.Delivered, push.Undelivered:
		done["sent_at"] = "now()"
	case push.Skipped, push.Expired:
		done["error_code"] = "'reason'"
	default:
		return columns{}
	}
	return done
}

// TestEarlyReceiptWaitsForItsAnswer: a receipt that comes before the answer is stored is parked, and matched once the
// message id is known.
func TestEarlyReceiptWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	if got := r.receive(t, ofMessage("m1", push.ReportDelivered)); got != "" {
		t.Fatalf("matched %q with nothing to match", got)
	}
	says(t, r.record(t, row, push.Accepted), "sent(w1,1)")
	if got := r.match(t); got != "" {
		t.Errorf("%q before it was due again", got)
	}
	r.due(t)
	if got := r.match(t); got != "delivered settled" {
		t.Errorf("matched %q", got)
	}
	r.must(t, row.ID, "delivered m1", "status", "provider_msg_id")
}

// TestFailedReceiptWaitsWhileAnAttemptIsOut, and then speaks of its own message only.
func TestFailedReceiptWaitsWhileAnAttemptIsOut(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	failed := ofReference(r.reference(t, row.ID), "m0", push.ReportUndelivered)
	if got := r.receive(t, failed); got != "" {
		t.Fatalf("%q while the attempt is out", got)
	}
	r.must(t, row.ID, "sending", "status")
	r.record(t, row, push.Accepted) // of m1: another message than the failed one
	r.due(t)
	if got := r.match(t); got != "undelivered other_message" {
		t.Errorf("matched %q", got)
	}
	r.must(t, row.ID, "sent m1", "status", "provider_msg_id")
	if got := r.receive(t, ofMessage("m1", push.ReportUndelivered)); got != "undelivered settled" {
		t.Errorf("of its own message %q", got)
	}
	r.must(t, row.ID, "undelivered", "status")
}

// TestReceiptOfAnEarlierAttempt: it is known by the filed attempt's message id; a delivered one counts, a failed one
// does not, since the last message decides.
func TestReceiptOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	for report, want := range map[push.Report]string{push.ReportUndelivered: "sent", push.ReportDelivered: "delivered"} {
		r := fresh(t)
		row := r.intend(t, "w1")
		r.record(t, row, push.Ambiguous) // keeps message id m1
		r.queue(t, row)
		row = r.intend(t, "w2", retry(2))
		r.do(t, row.ID, "status = 'sent', sent_at = now(), settled_at = now(), recipient_full = NULL, lease_until = NULL, provider_msg_id = 'm2'")
		r.receive(t, ofMessage("m1", report))
		r.must(t, row.ID, want+" m2", "status", "provider_msg_id")
	}
}

// TestReceiptOfTheProviderBefore: the first provider refused, the second one's attempt is in doubt. What the first one says
// later is of no message of the second: only that it arrived settles anything.
func TestReceiptOfTheProviderBefore(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for report, want := range map[push.Report]string{
		push.ReportUndelivered: "unknown tencent", push.ReportDelivered: "delivered aliyun",
	} {
		row := r.intend(t, "w1", about(string(report)))
		row = r.switchTo(t, row, push.NotSent, "tencent")
		result := resultOf(row, push.Ambiguous)
		result.Provider, result.MessageID = "tencent", ""
		one(t, r.Record(t.Context(), []push.Result{result}))
		r.receive(t, ofReference(r.reference(t, row.ID), "m-"+string(report), report)) // of aliyun
		r.must(t, row.ID, want, "status, provider")
	}
}

// TestRepeatedReceiptIsOne, in one call and over calls.
func TestRepeatedReceiptIsOne(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Sent, columns{"provider_msg_id": "'m1'"})
	word := ofMessage("m1", push.ReportDelivered)
	kept, err := r.KeepReceipts(t.Context(), []push.Receipt{word, word})
	if err != nil || kept[0].ID != kept[1].ID || kept[0].Repeated == kept[1].Repeated {
		t.Fatalf("kept %+v, %v", kept, err)
	}
	if got := r.match(t) + r.receive(t, word); got != "delivered settled" {
		t.Errorf("matched %q, want once", got)
	}
	list, err := r.Receipts(t.Context(), id)
	if err != nil || len(list) != 1 || list[0].Repeats != 2 || list[0].Effect != push.EffectSettled {
		t.Errorf("shown %+v, %v", list, err)
	}
}

// TestContradictingReceipts: whichever order they are read in within a batch, the delivered one is looked at first;
// the first word that was written stays.
func TestContradictingReceipts(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Sent, columns{"provider_msg_id": "'m1'"})
	got := r.receive(t, ofMessage("m1", push.ReportUndelivered), ofMessage("m1", push.ReportDelivered))
	if got != "delivered settled, undelivered late" {
		t.Errorf("matched %q", got)
	}
	r.must(t, id, "delivered", "status")
}

// TestReceiptLeavesTheWindowAlone: the dedup window counts from the settle, not from the receipt.
func TestReceiptLeavesTheWindowAlone(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Sent, columns{"provider_msg_id": "'m1'", "settled_at": "now() - interval '1 h'", "sent_at": "now() - interval '1 h'"})
	if _, err := r.KeepReceipts(t.Context(), []push.Receipt{ofMessage("m1", push.ReportDelivered)}); err != nil {
		t.Fatal(err)
	}
	matched, _, err := r.MatchReceipts(t.Context(), 10, nil)
	if err != nil || len(matched) != 1 || matched[0].Waited.Round(time.Minute) != time.Hour {
		t.Errorf("matched %+v, %v, want one after an hour", matched, err)
	}
	r.must(t, id, "same", flag("same", "settled_at < now() - interval '59 min' AND sent_at = settled_at"))
}

// TestWeChatReceiptNeedsItsRecipient: (openid, msgid) is what names a template message.
func TestWeChatReceiptNeedsItsRecipient(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.WeChat, push.Sent, columns{"provider": "'wechat'", "provider_msg_id": "'3487542469355618313'", "recipient_hash": `'\x0102'`})
	word := push.Receipt{Provider: "wechat", Report: push.ReportDelivered, MessageID: "3487542469355618313", RecipientHash: []byte{9}, Raw: "<xml/>"}
	if got := r.receive(t, signed(word)); got != "" {
		t.Errorf("another openid's receipt: %q", got)
	}
	word.RecipientHash, word.Recipient = []byte{1, 2}, "oAb***cd"
	if got := r.receive(t, signed(word)); got != "delivered settled" {
		t.Errorf("matched %q", got)
	}
	r.must(t, id, "delivered", "status")
}

// TestWeChatReceiptWithoutMessageID is of the only recent message to its recipient; of two it is nobody's.
func TestWeChatReceiptWithoutMessageID(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"", "delivered settled", ""} {
		r := fresh(t)
		for i := range n {
			r.put(t, push.WeChat, push.Sent, columns{"provider": "'wechat'", "provider_msg_id": fmt.Sprintf("'%d'", i), "recipient_hash": `'\x0102'`})
		}
		r.put(t, push.WeChat, push.Sent, columns{"provider": "'wechat'", "recipient_hash": `'\x0102'`, "intent_at": "now() - interval '1 h'"})
		r.put(t, push.WeChat, push.Sent, columns{"provider": "'wechat'", "recipient_hash": `'\x09'`})
		word := push.Receipt{Provider: "wechat", Report: push.ReportDelivered, RecipientHash: []byte{1, 2}, ReportedAt: time.Now(), Raw: "<xml/>"}
		if got := r.receive(t, signed(word)); got != want {
			t.Errorf("with %d recent messages: %q, want %q", n, got, want)
		}
	}
}

// TestReceiptOfNobodyIsParkedAndDroppedByAge.
func TestReceiptOfNobodyIsParkedAndDroppedByAge(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	unreadable := signed(push.Receipt{Provider: "tencent", Report: push.ReportUnreadable, Raw: "what\x00ever"})
	if got := r.receive(t, ofMessage("nobody's", push.ReportDelivered), unreadable); got != "" {
		t.Errorf("matched %q", got)
	}
	id := r.put(t, push.SMS, push.Sent, columns{"provider_msg_id": "'m1'"})
	r.receive(t, ofMessage("m1", push.ReportDelivered))
	if n, err := r.DropReceipts(t.Context(), 10, time.Hour); err != nil || n != 0 {
		t.Errorf("dropped %d, %v, want none that young", n, err)
	}
	if _, err := r.db.Exec(t.Context(), "UPDATE push_receipt SET received_at = now() - interval '2 h'"); err != nil {
		t.Fatal(err)
	}
	if n, err := r.DropReceipts(t.Context(), 10, time.Hour); err != nil || n != 2 {
		t.Errorf("dropped %d, %v, want the two without delivery", n, err)
	}
	if list, err := r.Receipts(t.Context(), id); err != nil || len(list) != 1 {
		t.Errorf("left %d, %v, want the matched one", len(list), err)
	}
}

// TestReceiptAndAnswerAtOnce: whichever is written first, and however often, each delivery ends with its last word.
func TestReceiptAndAnswerAtOnce(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	const n = 60
	var results []push.Result
	var words []push.Receipt
	for i := range n {
		row := r.intend(t, "w1", about(strconv.Itoa(i)))
		result := resultOf(row, push.Accepted)
		result.MessageID = fmt.Sprintf("m%d", i)
		results = append(results, result)
		report := []push.Report{push.ReportDelivered, push.ReportUndelivered}[i%2]
		words = append(words, ofReference(r.reference(t, row.ID), result.MessageID, report))
	}
	var all sync.WaitGroup // the test waits for every writer
	for from := 0; from < n; from += 10 {
		all.Go(func() {
			for _, a := range r.Record(t.Context(), results[from:from+10]) {
				if a.Err != nil {
					t.Errorf("recording: %v", a.Err)
				}
			}
		})
		for range 2 {
			all.Go(func() {
				if _, err := r.KeepReceipts(t.Context(), words[from:from+10]); err != nil {
					t.Errorf("keeping: %v", err)
				}
				if _, _, err := r.MatchReceipts(t.Context(), n, nil); err != nil {
					t.Errorf("matching: %v", err)
				}
			})
		}
	}
	all.Wait()
	r.due(t)
	r.match(t)
	if got := r.count(t, `SELECT count(*) FROM push_log l JOIN push_receipt r ON r.delivery_id = l.id
		WHERE l.status = r.status AND l.provider_msg_id = r.provider_msg_id AND r.effect = 'settled' AND r.repeats = 1`); got != n {
		t.Errorf("%d of %d ended with their last word", got, n)
	}
}
