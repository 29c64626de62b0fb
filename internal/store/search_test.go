package store_test

import (
	"strings"
	"testing"

	"pusher/internal/push"
)

func TestOperatorsFindADeliveryWhereverItsIndexIs(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	hash := columns{"recipient_hash": `'\x0102'`, "user_id": "'u7'"}
	var want []int64
	for _, status := range []push.Status{push.Sending, push.Sent, push.Unknown} {
		for _, dedup := range []string{"'10248'", "'10248:" + string(status) + "'"} { // the event's id decides, or part of what does
			over := with(columns{"recipient_hash": hash["recipient_hash"], "user_id": hash["user_id"]}, "dedup_id", dedup)
			over["biz_type"] = "'a_" + string(status) + "'"
			want = append(want, r.put(t, push.SMS, status, over))
		}
	}
	r.put(t, push.SMS, push.Sent, columns{"biz_id": "'other'", "dedup_id": "'10249'", "recipient_hash": `'\x03'`})
	for name, f := range map[string]push.Filter{
		"biz_id": {BizID: "10248"}, "user_id": {UserID: "u7"}, "recipient_hash": {RecipientHash: []byte{1, 2}},
	} {
		page, err := r.List(t.Context(), f, 0, 50)
		if err != nil || len(page.Entries) != len(want) {
			t.Errorf("%s: %d found, %v, want %d", name, len(page.Entries), err, len(want))
		}
	}
}

func TestOperatorsSearchesUseTheirIndexes(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	if _, err := r.db.Exec(t.Context(), `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, biz_id, status,
		attempt, event, topic, partition, offset_, record_time, settled_at, sent_at, user_id, recipient_hash)
		SELECT 'a', 'v1', n::text, 'sms', n::text, 'sent', 1, '{}', 't', 0, n, now(), now(), now(), 'u' || n, decode(md5(n::text), 'hex')
		FROM generate_series(1, 20000) n`); err != nil {
		t.Fatal(err)
	}
	r.put(t, push.SMS, push.Sending, nil)
	if _, err := r.db.Exec(t.Context(), "ANALYZE push_log"); err != nil {
		t.Fatal(err)
	}
	for index, where := range map[string]string{
		"push_log_user_id":        `(user_id = 'u77' AND status <> 'sending' OR status = 'sending' AND user_id = 'u77')`,
		"push_log_recipient_hash": `(recipient_hash = '\x01' AND status <> 'sending' OR status = 'sending' AND recipient_hash = '\x01')`,
		"push_log_biz_id": `(biz_id = '77' AND biz_id <> dedup_id AND status <> 'sending'
			OR dedup_id = '77' AND biz_id = '77' OR status = 'sending' AND biz_id = '77')`,
		"push_log_delivery": `(biz_id = '77' AND biz_id <> dedup_id AND status <> 'sending'
			OR dedup_id = '77' AND biz_id = '77' OR status = 'sending' AND biz_id = '77')`,
	} {
		plan := r.plan(t, "SELECT id FROM push_log WHERE "+where+" ORDER BY id DESC LIMIT 50")
		if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s does not use %s:\n%s", where, index, plan)
		}
	}
}
