package store_test

import (
	"context"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/testbed"
)

// Field report 25: a row is due when its moment has come, whatever the zones of the database, of the session that
// wrote the row, and of this process.
func TestFieldReport25_ARowIsDueAtItsMomentInEveryZone(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Asia/Shanghai", "America/Los_Angeles"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			ctx, url := context.Background(), testbed.Postgres(t)
			if _, err := at(t, url, zone).db.Exec(ctx, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = %L',
				current_database(), '`+zone+`'); END $$`); err != nil {
				t.Fatal(err)
			}
			r := at(t, url, zone) // its sessions start in that zone, too

			soon := r.put(t, push.SMS, push.Failed, columns{"next_attempt_at": "now() + interval '30 s'"})
			due := r.put(t, push.SMS, push.Failed, columns{"next_attempt_at": "now() - interval '1 s'"})
			local := time.Now().Add(time.Hour).In(time.FixedZone("", 8*3600)).Format(time.RFC3339)
			valid := r.put(t, push.SMS, push.Failed, columns{"expires_at": "'" + local + "'"})
			r.put(t, push.SMS, push.Unknown, ago("1 min", nil))

			check[[]push.Decided](t)(r.GiveUp(ctx, 10, policy()))
			check[[]push.Poke](t)(r.Requeue(ctx, 10, policy(), ""))
			r.must(t, soon, "failed", "status")
			r.must(t, due, "queued", "status")
			r.must(t, valid, "queued", "status")

			q := check[[]push.Question](t)(r.Questions(ctx, 10, policy(), aliyun()))
			if age := time.Since(q[0].IntentAt) - time.Minute; age.Abs() > 2*time.Second {
				t.Errorf("intent time is off by %v", age)
			}
			if _, err := r.db.Exec(ctx, "UPDATE push_log SET next_attempt_at = next_attempt_at - interval '30 s' WHERE id = $1", soon); err != nil {
				t.Fatal(err)
			}
			check[[]push.Poke](t)(r.Requeue(ctx, 10, policy(), ""))
			r.must(t, soon, "queued", "status")
		})
	}
}
