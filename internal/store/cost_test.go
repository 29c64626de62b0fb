package store_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

// BenchmarkDelivery is what a delivery costs in PostgreSQL: Intend and Record of accepted SMS in batches of 300, with the
// schema as it is and without one thing at a time. One turn is one batch.
func BenchmarkDelivery(b *testing.B) {
	for _, v := range []struct{ name, change string }{
		{"as it is", ""},
		{"without biz_id", "DROP INDEX push_log_biz_id"},
		{"without user_id", "DROP INDEX push_log_user_id"},
		{"without recipient_hash", "DROP INDEX push_log_recipient_hash"},
		{"without reference index", "DROP INDEX push_log_reference"},
		{"without message", "DROP INDEX push_log_message"},
		{"without brin", "DROP INDEX push_log_created_at, push_log_updated_at"},
		{"without trouble", "DROP INDEX push_log_trouble, push_log_error_code, push_log_expiring, push_log_due, push_log_queued"},
		{"without any of them", "DROP INDEX push_log_biz_id, push_log_user_id, push_log_recipient_hash, push_log_reference, push_log_message"},
	} {
		b.Run(v.name, func(b *testing.B) { deliveries(b, v.change) })
	}
}

func deliveries(b *testing.B, change string) {
	b.Helper()
	url := testbed.Postgres(b)
	log, err := store.Open(b.Context(), store.Config{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	db, err := pgxpool.New(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(b.Context(), change); err != nil {
		b.Fatal(err)
	}
	from, cpu := walAt(b, db), cpuOf(b, db)
	rows := 0
	for b.Loop() {
		deliver(b, log, rows)
		rows += batchSize
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(walAt(b, db)-from)/float64(rows), "wal-B/row")
	b.ReportMetric(float64((cpuOf(b, db)-cpu).Microseconds())/float64(rows), "pg-us/row")
}

const batchSize = 300

// deliver writes the intents and the results of one batch.
func deliver(b *testing.B, log *store.Store, from int) {
	b.Helper()
	intents := make([]push.Intent, batchSize)
	for i := range intents {
		n := from + i
		in := intend(push.NewOwner(), about(strconv.Itoa(n)))
		in.Delivery.BizID = strconv.Itoa(n)
		in.Delivery.Event.Recipient.UserID = "u" + strconv.Itoa(n%10007)
		in.RecipientHash = fmt.Appendf(nil, "%032d", n%10007)
		in.Delivery.Origin.Time = time.Now()
		intents[i] = in
	}
	results := make([]push.Result, batchSize)
	for i, a := range log.Intend(b.Context(), intents) {
		if a.Err != nil || a.Row.Status != push.Sending {
			b.Fatalf("%+v", a)
		}
		results[i] = push.Result{ID: a.Row.ID, Owner: intents[i].Owner, Attempt: 1, Class: push.Accepted, Provider: "aliyun",
			MessageID: fmt.Sprintf("900619746936498440^%d", from+i)}
	}
	for _, a := range log.Record(b.Context(), results) {
		if a.Err != nil || a.Row.Status != push.Sent {
			b.Fatalf("%+v", a)
		}
	}
}

// cpuOf is the processor time that the server's processes of this database have used, where they are on this machine: a
// figure that does not hang on what else the machine does.
func cpuOf(b *testing.B, db *pgxpool.Pool) (used time.Duration) {
	b.Helper()
	rows, err := db.Query(b.Context(), "SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
	if err != nil {
		b.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range pids {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // none: the figure is 0
		if fields := strings.Fields(string(stat)); len(fields) > 14 {
			for _, ticks := range fields[13:15] {
				n, _ := strconv.Atoi(ticks)
				used += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	return used
}

// walAt is where the write-ahead log ends.
func walAt(b *testing.B, db *pgxpool.Pool) int64 {
	b.Helper()
	var n int64
	if err := db.QueryRow(b.Context(), "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}
