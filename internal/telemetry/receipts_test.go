package telemetry

import (
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestReceiptsAreCountedByBoundedCodes(t *testing.T) {
	t.Parallel()
	m := New("")
	m.Receipts("aliyun", "new", 3)
	m.Receipts("aliyun", "13800138000", 1)
	for _, code := range []string{"MK:0001", "MK:0012", "UNDELIV", "user_block", "ZZ:13800138000", "13800138000", ""} {
		m.Matched(push.Matched{Provider: "aliyun", Report: push.ReportUndelivered, Effect: push.EffectSettled, Code: code, Waited: 3 * time.Second})
	}
	m.Matched(push.Matched{Provider: "twilio", Report: push.ReportDelivered, Effect: push.EffectLate})
	got := scrape(t, m)
	for _, want := range []string{
		`pusher_receipts_total{outcome="new",provider="aliyun"} 3`,
		`pusher_receipts_total{outcome="other",provider="aliyun"} 1`,
		`pusher_receipts_matched_total{effect="settled",provider="aliyun",report="undelivered"} 7`,
		`pusher_receipts_matched_total{effect="late",provider="other",report="delivered"} 1`,
		`pusher_receipt_failures_total{code="MK",provider="aliyun"} 2`,
		`pusher_receipt_failures_total{code="UNDELIV",provider="aliyun"} 1`,
		`pusher_receipt_failures_total{code="user_block",provider="aliyun"} 1`,
		`pusher_receipt_failures_total{code="other",provider="aliyun"} 2`,
		`pusher_receipt_failures_total{code="none",provider="aliyun"} 1`,
		`pusher_receipt_delay_seconds_count{provider="aliyun"} 7`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "13800138000") {
		t.Error("a phone became a label")
	}
}
