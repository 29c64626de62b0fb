package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pusher/internal/assemble"
)

// manyRows fills a push log with n deliveries of the last two days, as a busy one has them.
const manyRows = `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, biz_id, status, attempt, provider, error_code,
	user_id, recipient, recipient_hash, recipient_full, event, owner, intent_at, ambiguous_since, next_attempt_at, topic, partition, offset_, record_time,
	created_at, updated_at, settled_at, sent_at)
SELECT 'resume_viewed', 'v1', i::text, a, i::text, s, 1, CASE a WHEN 'notify' THEN 'inbox' WHEN 'sms' THEN 'aliyun' ELSE 'wechat' END,
	CASE WHEN s IN ('dead', 'failed', 'unknown') THEN 'isp.SYSTEM_ERROR' END,
	'u' || i % 100000, '+86*********' || i % 100, sha256((i % 100000)::text::bytea), CASE WHEN s IN ('dead', 'failed', 'unknown') THEN '+8613800138000' END,
	'{"biz_type":"resume_viewed"}', 'w', t, CASE s WHEN 'unknown' THEN t END, CASE s WHEN 'failed' THEN now() + interval '1 h' END,
	'push-events', (i % 8)::int, i, t, t, t + interval '1 s',
	CASE WHEN s IN ('sent', 'delivered', 'dead') THEN t + interval '1 s' END, CASE WHEN s IN ('sent', 'delivered') THEN t + interval '1 s' END
FROM (SELECT i, (ARRAY['notify', 'sms', 'wechat'])[1 + i % 3] a, now() - interval '2 d' * (1 - i::float8 / @n) t,
	CASE WHEN i % 2000 = 7 THEN 'dead' WHEN i % 5000 = 11 THEN 'failed' WHEN i % 50000 = 13 THEN 'unknown' WHEN i % 3 = 1 THEN 'delivered' ELSE 'sent' END s
	FROM generate_series(1::bigint, @n) i) g`

// TestConsoleAnswersQuicklyHoweverLongTheLog: with five million rows each page takes less than 100 ms; at its small size
// the test only sees that the pages come.
func TestConsoleAnswersQuicklyHoweverLongTheLog(t *testing.T) {
	t.Parallel()
	rows, most := 20_000, time.Minute // a busy machine proves nothing about time
	if os.Getenv(longVariable) != "" {
		rows, most = 5_000_000, 100*time.Millisecond
	}
	s := newSystem(t, 1)
	s.cfg.HTTP.OperatorToken, s.cfg.Privacy.HashKey = consoleToken, "a key of sixteen characters"
	began := time.Now()
	if _, err := s.db.Exec(t.Context(), strings.ReplaceAll(manyRows, "@n", strconv.Itoa(rows))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec(t.Context(), `VACUUM ANALYZE push_log`); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows in %v", rows, time.Since(began).Round(time.Second))
	s.countHours()
	p, _ := s.run()
	client := s.operator(p)
	for _, path := range []string{
		"", "?range=7d", "deliveries", "deliveries?status=dead", "deliveries?status=unknown&action=sms", "deliveries?user=u4242",
		"deliveries?error=isp.SYSTEM_ERROR", "deliveries?since=24h", "deliveries?status=sent&provider=aliyun",
		"deliveries?before=1000000", "deliveries?type=nobody", fmt.Sprintf("deliveries/%d", rows/2), "actions",
	} {
		var took []time.Duration
		for range 7 {
			began := time.Now()
			got, err := client.Get("http://" + p.Addr() + "/console/" + path)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, got.Body)
			_ = got.Body.Close()
			if got.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d", path, got.StatusCode)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		t.Logf("%-45s %6.1f ms median, %6.1f ms at worst", "/console/"+path, took[3].Seconds()*1000, took[6].Seconds()*1000)
		if took[3] > most {
			t.Errorf("/console/%s takes %v", path, took[3])
		}
	}
}

// countHours counts the whole log by the hour, as passes of the compensator do.
func (s *system) countHours() {
	s.t.Helper()
	log, err := assemble.Store(s.t.Context(), s.cfg, "counting")
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	for hours := 1; hours > 0; {
		if hours, err = log.CountHours(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// operator is a client that is signed in to a pusher's console, once its push log answers.
func (s *system) operator(p *assemble.Pusher) *http.Client {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Transport: &http.Transport{}}
	s.t.Cleanup(client.CloseIdleConnections)
	s.eventually("signed in", func() bool {
		got, err := client.PostForm("http://"+p.Addr()+"/console/signin", url.Values{"name": {"Li Wei"}, "secret": {consoleToken}})
		if err != nil {
			return false
		}
		_ = got.Body.Close()
		return got.StatusCode == http.StatusOK
	})
	return client
}
