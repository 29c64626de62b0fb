package compensate_test

import (
	"fmt"
	"testing"
	"time"

	"pusher/internal/compensate"
	"pusher/internal/consume"
	"pusher/internal/store"
	"pusher/internal/testbed"

	"github.com/jackc/pgx/v5/pgxpool"
)

// seedRows fills a push log with n rows in SQL, some with what a delivery of a real event has.
const seedRows = `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, biz_id, status, attempt, retries_used, provider,
	provider_msg_id, error_code, user_id, recipient, recipient_hash, recipient_full, event, owner, worker, intent_at, outcome,
	finished_at, next_attempt_at, topic, partition, offset_, record_time, settled_at, sent_at)
SELECT 'resume_viewed', 'v1', $2::text || n, 'sms', $2::text || n, CASE WHEN $3 THEN 'failed' ELSE 'sent' END, 1, 1, 'aliyun',
	CASE WHEN NOT $3 THEN md5(n::text) END, CASE WHEN $3 THEN 'isp.SYSTEM_ERROR' END, 'u' || n % 10007, '+86138****8000',
	decode(md5($2::text || n % 10007), 'hex'), CASE WHEN $3 THEN '+8613800138000' END,
	json_build_object('biz_type', 'resume_viewed', 'biz_id', n, 'payload', repeat('x', 300)), gen_random_uuid()::text, 'bench',
	now(), CASE WHEN $3 THEN 'not_sent' ELSE 'accepted' END, now(), CASE WHEN $3 THEN now() - interval '1 s' END,
	'push-events', 0, n, now(), CASE WHEN NOT $3 THEN now() END, CASE WHEN NOT $3 THEN now() END
FROM generate_series(1, $1::int) n`

// BenchmarkPass re-queues and publishes due rows, with and without finished ones behind them. PUSHER_TEST_POSTGRES decides
// whether the log is synced.
func BenchmarkPass(b *testing.B) {
	for _, finished := range []int{0, 1_000_000} {
		b.Run(fmt.Sprintf("finished=%d", finished), func(b *testing.B) {
			url := testbed.Postgres(b)
			log, err := store.Open(b.Context(), store.Config{URL: url, StatementTimeout: time.Hour})
			if err != nil {
				b.Fatal(err)
			}
			defer log.Close()
			db, err := pgxpool.New(b.Context(), url)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			producer, err := consume.NewProducer(consume.Cluster{Brokers: testbed.Kafka(b)})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = producer.Close(b.Context()) }()
			pass := scene{Store: log, db: db}.pass(nil)
			pass.Batch, pass.RetryTopic, pass.Budget, pass.Call = 1000, testbed.Topic(b, 4), time.Hour, time.Minute
			pass.Publisher = producer
			seed(b, db, finished, "old", false)
			runDue(b, db, pass)
		})
	}
}

// runDue times passes over rows that are due.
func runDue(b *testing.B, db *pgxpool.Pool, pass *compensate.Pass) {
	b.Helper()
	const due = 20_000
	var moved int
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		seed(b, db, due, fmt.Sprint(i, "-"), true)
		b.StartTimer()
		sum, err := pass.Run(b.Context())
		if err != nil || sum.Requeued != due {
			b.Fatalf("%+v, %v", sum, err)
		}
		moved += sum.Requeued
	}
	b.ReportMetric(float64(moved)/b.Elapsed().Seconds(), "rows/s")
}

func seed(b *testing.B, db *pgxpool.Pool, n int, name string, due bool) {
	b.Helper()
	for _, sql := range []string{seedRows, "VACUUM ANALYZE push_log"} {
		var args []any
		if sql == seedRows {
			args = []any{n, name, due}
		}
		if _, err := db.Exec(b.Context(), sql, args...); err != nil {
			b.Fatal(err)
		}
	}
}
