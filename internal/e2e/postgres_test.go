package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/assemble"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/sandbox/local"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
)

// TestFieldReport22_ConnectionLostDuringCommit: of the inserts, status changes and attempt increments one in three
// commits while its answer is lost. There is one row each, in the right state, and each attempt counts once.
func TestFieldReport22_ConnectionLostDuringCommit(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 2)
	s.patient()
	s.cfg.Dedup.Lease = 5 * time.Second // a message whose publication is not noted comes again after two of them
	s.faults(provider.Fault{Each: 1, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
	l, through := s.postgresLine()
	ch := &through.Channels
	ch.Notify.Timeout, ch.SMS.Timeout, ch.WeChat.Timeout = 2*time.Second, 2*time.Second, 2*time.Second
	var lost atomic.Int64
	third := oneIn(3, "INSERT INTO push_log", "UPDATE push_log")
	l.losing(func(request []byte) bool {
		lose := lost.Load() < 30 && third(request) // then all may come to their end
		if lose {
			lost.Add(1)
		}
		return lose
	})
	s.runOn(through)
	const n = 20
	for i := range n {
		s.write(event(i, `"actions":["notify","sms"],`))
	}
	s.eventually("all sent", func() bool {
		_, _ = s.passAs(through) // a pass that meets the fault fails, and the next goes on
		return s.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`) == 2*n
	})
	s.caughtUp()
	s.accepted(n)
	t.Logf("%d answers lost", lost.Load())
	if lost.Load() < 5 {
		t.Errorf("only %d answers were lost", lost.Load())
	}
	if rows, inbox := s.number(`SELECT count(*) FROM push_log`), s.number(`SELECT count(*) FROM inbox_message`); rows != 2*n || inbox != n {
		t.Errorf("%d rows and %d in-app messages, want %d and %d", rows, inbox, 2*n, n)
	}
	if got := s.number(`SELECT count(*) FROM push_log WHERE action = 'sms' AND retries_used <> 1`); got != 0 {
		t.Errorf("%d rows did not count their refusal once", got)
	}
	if filed, counted := s.number(`SELECT count(*) FROM push_attempt`), s.number(`SELECT coalesce(sum(attempt - 1), 0) FROM push_log`); filed != counted {
		t.Errorf("%d attempts filed, %d counted", filed, counted)
	}
}

// TestFieldReport22_ManyHandsOnTheSameRows: four pushers and two compensators on 200 rows that fail twice each: no
// update is lost, no event dropped for a deadlock.
func TestFieldReport22_ManyHandsOnTheSameRows(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 4)
	s.patient()
	s.faults(provider.Fault{Each: 2, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
	for range 4 {
		s.run()
	}
	const n = 200
	var values []string
	for i := range n {
		values = append(values, event(i, `"actions":["sms"],`), event(i, `"actions":["sms"],`))
	}
	s.write(values...)
	var passes sync.WaitGroup // waited for below
	var done atomic.Bool
	for range 2 {
		passes.Go(func() {
			for deadline := time.Now().Add(soon); !done.Load() && time.Now().Before(deadline); {
				if _, err := s.passAs(s.cfg); err != nil {
					t.Error(err)
				}
			}
		})
	}
	s.sentInTheEnd(n)
	done.Store(true)
	passes.Wait()
	s.caughtUp()
	s.accepted(n)
	if got := s.number(`SELECT count(*) FROM push_log WHERE retries_used = 2`); got != n {
		t.Errorf("%d rows count their two refusals, want %d", got, n)
	}
	if got := s.number(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); got != 0 {
		t.Logf("%d deadlocks, all survived", got)
	}
}

// TestFieldReport24_StatementCacheOff: with statement_cache off, nothing is prepared under a name; with it on, it is.
func TestFieldReport24_StatementCacheOff(t *testing.T) {
	t.Parallel()
	for _, cached := range []bool{false, true} {
		t.Run(strconv.FormatBool(cached), func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 1)
			s.patient()
			l, through := s.postgresLine()
			through.Postgres.StatementCache = cached
			var named atomic.Int64
			l.losing(func(request []byte) bool {
				if everyNth(1, "stmtcache_")(request) {
					named.Add(1)
				}
				return false
			})
			s.runOn(through)
			s.write(event(1, ""))
			s.settled(3, push.Sent)
			if _, err := s.passAs(through); err != nil {
				t.Error(err)
			}
			if got := named.Load() > 0; got != cached {
				t.Errorf("statements prepared under a name: %v, want %v", got, cached)
			}
		})
	}
}

// TestFieldReport24_ThroughATransactionPooler: deliveries, failures, retries and doubt through pgbouncer in transaction
// mode, with fewer server connections than clients.
func TestFieldReport24_ThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 2)
	s.patient()
	pooled := s.but(func(c *config.Config) {
		c.Postgres.URL, c.Postgres.StatementCache = config.Secret(pgbouncer(t, s.cfg.Postgres.URL.Reveal())), false
		c.Channels.Breaker.Pause = 0 // each first WeChat request is reset: the breaker's pauses would only make it longer
	})
	s.faults(
		provider.Fault{Provider: provider.WeChat, Each: 1, Kind: provider.AcceptThenReset},
		provider.Fault{Provider: provider.Aliyun, Each: 1, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"},
	)
	var log testbed.Log
	s.runAs(pooled, zerolog.New(&log))
	s.runAs(pooled, zerolog.New(&log))
	const n = 40
	for i := range n {
		s.write(event(i, ""))
	}
	s.eventually("all sent", func() bool {
		if _, err := s.passAs(pooled); err != nil {
			t.Fatal(err)
		}
		return s.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`) == 3*n
	})
	s.caughtUp()
	s.accepted(2 * n)
	for _, code := range []string{"42P05", "26000", "40P01"} {
		if strings.Contains(log.String(), code) {
			t.Errorf("the log tells of SQLSTATE %s:\n%s", code, log.String())
		}
	}
}

// pgbouncer starts a pooler in transaction mode in front of a database and returns its URL.
func pgbouncer(t *testing.T, target string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			t.Skip("needs pgbouncer on this machine (apt-get install pgbouncer)")
		}
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	port, err := local.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	server, login := "host="+u.Hostname()+" port="+u.Port(), u.User.Username()
	if login == "" {
		login = "postgres"
	}
	server += " user=" + login
	if password, ok := u.User.Password(); ok {
		server += " password=" + password
	}
	dir, err := os.MkdirTemp("/tmp", "pusher-pgbouncer-") //nolint:usetesting // its user cannot enter the test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	settings := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n* = %s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nauth_type = any\npool_mode = transaction\n"+
		"default_pool_size = 4\nmax_client_conn = 200\nunix_socket_dir =\n", server, port)
	if err := errors.Join(os.WriteFile(settings, []byte(text), 0o644), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	args := []string{settings}
	if os.Geteuid() == 0 { // it refuses root
		args = append([]string{"-u", "nobody"}, args...)
	}
	proc, err := local.StartProcess(exec.Command(program, args...), filepath.Join(dir, "output.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proc.End(syscall.SIGTERM, 5*time.Second) })
	u.Host, u.User = net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), url.User(login)
	for deadline := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", u.Host)
		if err == nil {
			_ = conn.Close()
			return u.String()
		}
		if time.Now().After(deadline) {
			output, _ := os.ReadFile(filepath.Join(dir, "output.log"))
			t.Fatalf("pgbouncer does not answer: %v\n%s", err, output)
		}
	}
}

// TestFieldReport26_PickingStaysQuick: among many settled rows, with a transaction open that keeps vacuum away and
// updates going on, due rows are found by the partial index in no time.
func TestFieldReport26_PickingStaysQuick(t *testing.T) {
	t.Parallel()
	rows := 50_000
	if os.Getenv(longVariable) != "" {
		rows = 500_000
	}
	s := newSystem(t, 1)
	fill := func(from, to int, status, more string) {
		t.Helper()
		if _, err := s.db.Exec(t.Context(), `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, round, biz_id, status, attempt,
				event, intent_at, owner, settled_at, sent_at, next_attempt_at, topic, partition, offset_, record_time)
			SELECT 'resume_viewed', 'v1', i::text, 'sms', 1, i::text, `+status+`, 1, '{}', now(), 'o', `+more+`, 't', 0, i, now()
			FROM generate_series($1::int, $2::int) AS i`, from, to); err != nil {
			t.Fatal(err)
		}
	}
	fill(1, rows, `'sent'`, `now(), now(), NULL`)
	idle, err := s.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = idle.Rollback(context.Background()) }()
	if _, err := idle.Exec(t.Context(), `SELECT count(*) FROM push_log WHERE id = 1`); err != nil {
		t.Fatal(err)
	}
	fill(rows+1, rows+50, `'failed'`, `NULL, NULL, now()`)
	if _, err := s.db.Exec(t.Context(), `UPDATE push_log SET updated_at = now() WHERE id % 25 = 0`); err != nil {
		t.Fatal(err)
	}
	log, err := assemble.Store(t.Context(), s.cfg, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	best, picked := time.Hour, 0
	for range 5 {
		began := time.Now()
		pokes, err := log.Requeue(t.Context(), 10, s.cfg.Policy(), "")
		if err != nil {
			t.Fatal(err)
		}
		best, picked = min(best, time.Since(began)), picked+len(pokes)
	}
	t.Logf("picked %d of %d rows, the quickest pass in %v", picked, rows, best)
	if best > 100*time.Millisecond || picked != 50 {
		t.Errorf("picked %d, the quickest pass took %v", picked, best)
	}
}
