package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// TestFieldReport25_BackoffInEveryZone: wherever programs and database think they are, what failed comes again after
// its backoff, and the times written are real ones.
func TestFieldReport25_BackoffInEveryZone(t *testing.T) {
	t.Parallel()
	for programs, database := range map[string]string{"Asia/Shanghai": "UTC", "UTC": "Asia/Shanghai"} {
		t.Run("programs in "+programs, func(t *testing.T) {
			t.Parallel()
			in := install(t, map[string]string{"PUSHER_RETRY_FIRST": "3s", "PUSHER_RETRY_MAX": "3s"})
			in.env["TZ"] = programs
			name := in.db.Config().ConnConfig.Database
			if _, err := in.db.Exec(t.Context(), fmt.Sprintf(`ALTER DATABASE %s SET timezone TO '%s'`, pgx.Identifier{name}.Sanitize(), database)); err != nil {
				t.Fatal(err)
			}
			in.faults(provider.Fault{Count: 1, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
			p := in.pusher("")
			began := time.Now()
			in.write(event(1, `"actions":["sms"],`))
			in.settled(1, push.Failed)
			for in.statuses()["sms sent"] == 0 && time.Since(began) < soon {
				c := in.start("compensator", "")
				c.gone()
			}
			p.retire()
			in.system.accepted(1)
			if got := in.number(`SELECT count(*) FROM push_log l JOIN push_attempt a ON a.delivery_id = l.id
				WHERE l.intent_at - a.finished_at BETWEEN interval '3 s' AND interval '15 s'`); got != 1 {
				t.Error("it did not come between its backoff and one pass more")
			}
			if got := in.number(`SELECT count(*) FROM push_log WHERE created_at BETWEEN $1::timestamptz - interval '2 s' AND $1::timestamptz + interval '30 s'
				AND sent_at BETWEEN created_at AND now()`, began); got != 1 {
				t.Error("the times in the log are not real ones")
			}
		})
	}
}
