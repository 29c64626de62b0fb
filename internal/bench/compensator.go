package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/assemble"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/store"
)

const (
	dueRows      = 100_000
	finishedRows = 5_000_000
	passTarget   = 10_000 // rows a second
	passSame     = 0.8    // with finished rows behind them, of the rate without
)

// dueSQL seeds rows that failed and are due, as the pipeline leaves them.
const dueSQL = `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, biz_id, status, attempt, retries_used, provider,
	error_code, user_id, recipient, recipient_hash, recipient_full, event, event_id, owner, worker, intent_at, outcome, finished_at,
	next_attempt_at, topic, partition, offset_, record_time, reference)
SELECT 'bench_sms', 'v1', $1 || n, 'sms', $1 || n, 'failed', 1, 1, 'aliyun', 'isp.SYSTEM_ERROR', 'u' || n % 100000, '138******00',
	sha256(int4send(n)), '+86138' || lpad(n::text, 8, '0'),
	('{"biz_type":"bench_sms","biz_id":' || n || ',"params":{"company":"Example Trading Co.","position":"Sales manager"}}')::json,
	'evt-' || n, 'seed', 'seed', now() - interval '2 min', 'not_sent', now() - interval '1 min', now() - interval '1 s',
	'seed', n % 8, n, now() - interval '2 min', md5($1 || n)
FROM generate_series(1, $2::int4) AS n`

// sentSQL is what pushers make of the rows that a pass has re-queued. Left as they are the next pass would publish them again,
// since seeding takes longer than its patience, and would be measured at twice the work.
const sentSQL = `UPDATE push_log SET status = 'sent', sent_at = now(), settled_at = now(), updated_at = now(), owner = 'seed',
	intent_at = now(), outcome = 'accepted', finished_at = now(), recipient_full = NULL, error_code = NULL WHERE status = 'queued'`

// finishedSQL seeds rows of the days before, sent and settled.
//
//nolint:dupword // one time in many columns
const finishedSQL = `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, biz_id, status, attempt, provider, provider_msg_id,
	user_id, recipient, recipient_hash, event, event_id, owner, worker, intent_at, outcome, finished_at, topic, partition, offset_,
	record_time, created_at, updated_at, settled_at, sent_at, reference)
SELECT 'bench_sms', 'v1', 'old-' || n, 'sms', 'old-' || n, 'sent', 1, 'aliyun', 'old-' || n, 'u' || n % 100000, '138******00',
	sha256(int4send(n % 1000000)),
	('{"biz_type":"bench_sms","biz_id":"old-' || n || '","params":{"company":"Example Trading Co.","position":"Sales manager"}}')::json,
	'evt-' || n, 'seed', 'seed', start, 'accepted', done, 'seed', n % 8, n, start, start, done, done, done, md5('old-' || n)
FROM (SELECT n, now() - interval '3 days' + n * interval '20 ms' AS start,
	now() - interval '3 days' + n * interval '20 ms' + interval '50 ms' AS done FROM generate_series(1, $1::int4) AS n) AS seed`

// compensator measures a pass over due rows, alone and with finished rows behind them, and what operators ask then.
func compensator(ctx context.Context, b *bench) error {
	const stage = "compensator"
	r, err := b.room(ctx, "bench-none")
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return fmt.Errorf("seeding rows: %w", err)
	}
	defer conn.Close(ctx)
	alone, err := b.pass(ctx, conn, r, "a-")
	if err != nil {
		return err
	}
	b.held(stage, "re-enqueues 100,000 due rows, a second", fmt.Sprintf("%.0f/s", alone), "≥ 10,000/s", alone >= passTarget)
	if _, err := conn.Exec(ctx, sentSQL); err != nil {
		return fmt.Errorf("finishing rows: %w", err)
	}
	from := time.Now()
	if err := seedFinished(ctx, conn); err != nil {
		return err
	}
	b.sayf("# seeding %d finished rows took %v", finishedRows, time.Since(from).Round(time.Second))
	behind, err := b.pass(ctx, conn, r, "b-")
	if err != nil {
		return err
	}
	b.held(stage, "the same with 5 million finished rows behind them", fmt.Sprintf("%.0f/s", behind), "≥ 10,000/s", behind >= passTarget)
	b.atLeast(stage, "with finished rows ÷ without", behind/alone, passSame)
	return b.questions(ctx, r)
}

// pass seeds due rows and lets one pass take them.
func (b *bench) pass(ctx context.Context, conn *pgx.Conn, r room, prefix string) (float64, error) {
	if _, err := conn.Exec(ctx, dueSQL, prefix, dueRows); err != nil {
		return 0, fmt.Errorf("seeding due rows: %w", err)
	}
	if _, err := conn.Exec(ctx, "VACUUM ANALYZE push_log"); err != nil { // as autovacuum does
		return 0, fmt.Errorf("seeding due rows: %w", err)
	}
	if err := b.settle(ctx); err != nil {
		return 0, err
	}
	c, err := b.configOf(job{room: r})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	sum, err := assemble.Pass(ctx, c, false, nil)
	if err != nil {
		return 0, err
	}
	if sum.Requeued != dueRows {
		return 0, fmt.Errorf("a pass re-enqueued %d of %d rows", sum.Requeued, dueRows)
	}
	return dueRows / time.Since(began).Seconds(), nil
}

// configOf is the configuration that a child process would read.
func (b *bench) configOf(j job) (*config.Config, error) {
	values := map[string]string{}
	for _, entry := range b.environment(j, "127.0.0.1:0") {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	lookup := func(name string) (string, bool) { value, ok := values[name]; return value, ok }
	c, _, err := config.Load(values[config.Variable], lookup, nil)
	return c, err
}

// seedFinished writes the finished rows; the indexes that no constraint needs are made afterwards, which is faster and
// leaves them smaller than life would, if anything.
func seedFinished(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'push_log'
		AND indexname NOT IN (SELECT conname FROM pg_constraint WHERE conrelid = 'push_log'::regclass)`)
	if err != nil {
		return fmt.Errorf("reading indexes: %w", err)
	}
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Name, Definition string }])
	if err != nil {
		return fmt.Errorf("reading indexes: %w", err)
	}
	for _, index := range indexes {
		if _, err := conn.Exec(ctx, "DROP INDEX "+index.Name); err != nil {
			return fmt.Errorf("seeding: %w", err)
		}
	}
	if _, err := conn.Exec(ctx, finishedSQL, finishedRows); err != nil {
		return fmt.Errorf("seeding finished rows: %w", err)
	}
	for _, index := range indexes {
		if _, err := conn.Exec(ctx, index.Definition); err != nil {
			return fmt.Errorf("building %s: %w", index.Name, err)
		}
	}
	return nil
}

// questions measures what operators ask, with all those rows there: the slowest of a few each.
func (b *bench) questions(ctx context.Context, r room) error {
	log, err := store.Open(ctx, store.Config{URL: r.database, MaxConns: 1})
	if err != nil {
		return err
	}
	defer log.Close()
	for _, of := range []struct {
		what string
		ask  func(i int) error
	}{
		{"newest 50", func(int) error { return list(ctx, log, push.Filter{}) }},
		{"of one user", func(i int) error { return list(ctx, log, push.Filter{UserID: fmt.Sprint("u", 1000*i)}) }},
		{"of one biz_id", func(i int) error { return list(ctx, log, push.Filter{BizID: fmt.Sprint("old-", 100_000*i+1)}) }},
		{"queued, oldest status first page", func(int) error { return list(ctx, log, push.Filter{Statuses: []push.Status{push.Queued}}) }},
		{"one delivery with its attempts", func(i int) error { _, _, err := log.Show(ctx, int64(200_000*(i+1))); return err }},
	} {
		var worst time.Duration
		for i := range 5 {
			from := time.Now()
			if err := of.ask(i); err != nil {
				return err
			}
			worst = max(worst, time.Since(from))
		}
		b.notef("questions", "at 5 million rows: "+of.what, "%.1f ms", float64(worst.Microseconds())/1000)
	}
	return nil
}

func list(ctx context.Context, log *store.Store, f push.Filter) error {
	_, err := log.List(ctx, f, 0, 50)
	return err
}
