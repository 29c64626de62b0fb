package telemetry

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pusher/internal/push"
)

// used gives metrics with every one of them in use.
func used(t *testing.T) *Metrics {
	t.Helper()
	m := New("v1.2.3")
	m.Event(OutcomeDone)
	m.Row(push.SMS, "aliyun", push.Sent)
	m.Duplicate(push.SMS, "redis")
	m.Attempt(push.WeChat, "wechat", push.Accepted, 30*time.Millisecond)
	m.Ended(push.SMS, push.Result{Class: push.NotSent, Provider: "aliyun", Code: "dial", Wait: time.Minute})
	m.LeaseLost(push.SMS)
	m.Takeover(push.Notify)
	m.Switched(push.SMS, "aliyun", "tencent")
	m.DeadLetter(push.ReasonNotJSON)
	m.Consumer("joined", 1)
	m.Receipts("aliyun", "new", 1)
	m.Matched(push.Matched{Provider: "aliyun", Report: push.ReportUndelivered, Effect: push.EffectSettled, Code: "MK:0001", Waited: time.Second})
	m.WatchHeld(StageAdmitted, func() int { return 7 })
	m.WatchHeld(StageSending, func() int { return 2 })
	m.WatchBytes(func() int64 { return 4096 })
	m.RateWaits("aliyun")(time.Second)
	m.WatchLanes(func() []Lane { return []Lane{{Provider: "aliyun", Limit: 64, Limited: true}} })
	m.WatchPartitions(func() []Partition {
		return []Partition{{Topic: "t", Partition: 1, Watermark: 40, End: 42, Out: 2, Standing: 3 * time.Second}, {Topic: "t", Partition: 2, Watermark: 5, End: -1}}
	})
	m.WatchUnknown(func(context.Context) (int, time.Duration, error) { return 3, time.Minute, nil })
	m.WatchParked(func(context.Context) (int, time.Duration, error) { return 4, time.Hour, nil })
	m.WatchUnsent(func(context.Context) ([]Unsent, error) {
		return []Unsent{{push.Failed, 5, time.Hour, -time.Minute}, {push.Sending, 1, time.Second, time.Second}}, nil
	})
	m.WatchReady(func(context.Context) map[string]bool { return map[string]bool{"kafka": true, "redis": false} })
	m.Keys().Looked(1000, 90000, 7)
	return m
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d", w.Code)
	}
	return w.Body.String()
}

func TestMetricsFollowPrometheusNaming(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(used(t).Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestEveryMetricIsServedUnderItsName(t *testing.T) {
	t.Parallel()
	got := scrape(t, used(t))
	for _, want := range []string{
		`pusher_events_total{outcome="done"} 1`,
		`pusher_deliveries_total{action="sms",provider="aliyun",status="sent"} 1`,
		`pusher_duplicates_total{action="sms",by="redis"} 1`,
		`pusher_attempts_total{action="wechat",class="accepted",provider="wechat"} 1`,
		`pusher_attempt_duration_seconds_count{action="wechat",provider="wechat"} 1`,
		`pusher_attempt_failures_total{code="dial",provider="aliyun"} 1`,
		`pusher_backoff_seconds_sum{action="sms",class="not_sent"} 60`,
		`pusher_lease_lost_total{action="sms"} 1`,
		`pusher_takeovers_total{action="notify"} 1`,
		`pusher_switches_total{action="sms",next="tencent",provider="aliyun"} 1`,
		`pusher_dead_letters_total{reason="not_json"} 1`,
		`pusher_consumer_events_total{kind="joined"} 1`,
		`pusher_in_flight{stage="admitted"} 7`,
		`pusher_in_flight{stage="sending"} 2`,
		`pusher_waiting_bytes 4096`,
		`pusher_watermark_offset{partition="1",topic="t"} 40`,
		`pusher_lag_records{partition="1",topic="t"} 2`,
		`pusher_out_records{partition="1",topic="t"} 2`,
		`pusher_commit_age_seconds{partition="1",topic="t"} 3`,
		`pusher_parked_receipts 4`, `pusher_parked_receipts_oldest_seconds 3600`,
		`pusher_unsent_deliveries{status="failed"} 5`, `pusher_unsent_deliveries{status="queued"} 0`,
		`pusher_unsent_oldest_seconds{status="failed"} 3600`, `pusher_overdue_oldest_seconds{status="failed"} 0`,
		`pusher_overdue_oldest_seconds{status="sending"} 1`,
		`pusher_ready{dependency="kafka"} 1`, `pusher_ready{dependency="redis"} 0`,
		`pusher_dedup_keys 1000`, `pusher_dedup_keys_bytes 90000`, `pusher_redis_evicted_keys_total 7`,
		`pusher_unknown_deliveries 3`,
		`pusher_unknown_oldest_seconds 60`,
		`pusher_build_info{version="v1.2.3"} 1`,
		`go_goroutines`, `process_start_time_seconds`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, `pusher_lag_records{partition="2"`) {
		t.Error("a lag is shown although the end is not known")
	}
}

func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := New("")
	for _, personal := range []string{"13800138000", "oAbCdEf", "twilio"} {
		m.Event(personal)
		m.Row(push.Action(personal), personal, push.Status(personal))
		m.Duplicate(push.Action(personal), personal)
		m.Attempt(push.Action(personal), personal, push.Class(99), time.Second)
		m.Ended(push.Action(personal), push.Result{Class: push.Class(99), Provider: personal, Code: personal})
		m.Ended(push.SMS, push.Result{Class: push.Account, Provider: "aliyun", Code: "token_" + personal})
		m.LeaseLost(push.Action(personal))
		m.Takeover(push.Action(personal))
		m.DeadLetter(personal)
		m.Consumer(personal, 1)
		if got := scrape(t, m); strings.Contains(got, personal) {
			t.Errorf("%s became a label", personal)
		}
	}
	m.Row(push.SMS, "", push.Skipped)
	if got := scrape(t, m); !strings.Contains(got, `pusher_deliveries_total{action="sms",provider="none",status="skipped"} 1`) ||
		!strings.Contains(got, `pusher_dead_letters_total{reason="other"} 3`) {
		t.Error(got)
	}
}

func TestGaugeThatCannotBeReadKeepsNothingBack(t *testing.T) {
	t.Parallel()
	m := New("")
	m.WatchUnknown(func(ctx context.Context) (int, time.Duration, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the question has no deadline")
		}
		return 0, 0, errors.New("postgres is away")
	})
	_ = scrape(t, m)
	got := scrape(t, m)
	if strings.Contains(got, "pusher_unknown_deliveries ") || !strings.Contains(got, `pusher_gauge_errors_total{source="unknown"}`) ||
		!strings.Contains(got, "go_goroutines") {
		t.Error(got)
	}
}
