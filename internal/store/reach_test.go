package store_test

import (
	"context"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

// finishedRows seeds deliveries that ended days ago, as a busy log has them behind the few that are under way.
const finishedRows = `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, biz_id, status, attempt, provider,
	provider_msg_id, user_id, recipient, recipient_hash, event, owner, intent_at, outcome, finished_at, topic, partition, offset_,
	record_time, created_at, updated_at, settled_at, sent_at, reference)
SELECT 'resume_viewed', 'v1', 'old-' || n, 'sms', 'biz-' || n, 'sent', 1, 'aliyun', 'msg-' || n, 'user-' || n, '138****8000',
	sha256(int4send(n)), '{}', 'w1', at, 'accepted', at, 'push-events', 0, n, at, at, at, at, at, md5('old-' || n)
FROM (SELECT n, now() - interval '3 days' + n * interval '1 s' AS at FROM generate_series(1, $1::int4) n) seed`

// asks are what the product asks of the push log, each by an index, so that what it costs does not hang on how much lies
// behind.
func asks(r rows) map[string]func(context.Context, *store.Store) error {
	list := func(f push.Filter) func(context.Context, *store.Store) error {
		return func(ctx context.Context, s *store.Store) error { _, err := s.List(ctx, f, 0, 50); return err }
	}
	open := time.Now().UTC().Truncate(time.Hour)
	return map[string]func(context.Context, *store.Store) error{
		"list":                 list(push.Filter{}),
		"list by id":           list(push.Filter{IDs: []int64{7, 9}}),
		"list by dedup_id":     list(push.Filter{Identity: push.Identity{DedupID: "old-77"}}),
		"list by biz_id":       list(push.Filter{BizID: "biz-77"}),
		"list by user":         list(push.Filter{UserID: "user-77"}),
		"list by recipient":    list(push.Filter{RecipientHash: []byte("nobody")}),
		"list by error":        list(push.Filter{ErrorCode: "isp.SYSTEM_ERROR"}),
		"list by status":       list(push.Filter{Statuses: []push.Status{push.Dead}}),
		"list by statuses":     list(push.Filter{Statuses: []push.Status{push.Failed, push.Unknown, push.Queued}}),
		"list by status, type": list(push.Filter{Statuses: []push.Status{push.Failed}, Identity: push.Identity{BizType: "nobody"}}),
		"list since":           list(push.Filter{From: open.Add(-time.Hour)}),
		"list of one provider": list(push.Filter{Provider: "aliyun"}),
		"show":                 func(ctx context.Context, s *store.Store) error { _, _, err := s.Show(ctx, 77); return err },
		"what waits":           func(ctx context.Context, s *store.Store) error { _, err := s.Waiting(ctx); return err },
		"unsent":               func(ctx context.Context, s *store.Store) error { _, err := s.UnsentAge(ctx); return err },
		"unknown":              func(ctx context.Context, s *store.Store) error { _, _, err := s.UnknownAge(ctx); return err },
		"changes": func(ctx context.Context, s *store.Store) error {
			_, _, err := s.Changes(ctx, push.Filter{}, time.Now().Add(-time.Second), 0, 200)
			return err
		},
		"statistics": func(ctx context.Context, s *store.Store) error {
			_, err := s.Stats(ctx, time.Time{}, time.Time{})
			return err
		},
		"hours": func(ctx context.Context, s *store.Store) error {
			_, err := s.Hourly(ctx, open.Add(-30*time.Hour), time.Time{})
			return err
		},
		"counting": func(ctx context.Context, s *store.Store) error { _, err := s.CountHours(ctx); return err },
		"dry run of a pass": func(ctx context.Context, s *store.Store) error {
			_, err := s.Due(ctx, policy(), []string{"aliyun"}, time.Minute)
			return err
		},
		"pass: due": func(ctx context.Context, s *store.Store) error {
			_, err := s.Requeue(ctx, 10, policy(), "")
			return err
		},
		"pass: due of one": func(ctx context.Context, s *store.Store) error {
			_, err := s.Requeue(ctx, 10, policy(), push.SMS)
			return err
		},
		"pass: queued": func(ctx context.Context, s *store.Store) error { _, err := s.Queued(ctx); return err },
		"pass: unpublished": func(ctx context.Context, s *store.Store) error {
			_, err := s.Unpublished(ctx, 10, time.Minute)
			return err
		},
		"pass: published": func(ctx context.Context, s *store.Store) error {
			return s.MarkPublished(ctx, []push.Poke{{ID: 77, Attempt: 1}})
		},
		"pass: stale": func(ctx context.Context, s *store.Store) error {
			_, _, err := s.SweepStale(ctx, 10, policy())
			return err
		},
		"pass: repeats": func(ctx context.Context, s *store.Store) error {
			_, err := s.RepeatUnknown(ctx, 10, policy())
			return err
		},
		"pass: questions": func(ctx context.Context, s *store.Store) error {
			_, err := s.Questions(ctx, 10, policy(), []string{"aliyun"})
			return err
		},
		"pass: resends": func(ctx context.Context, s *store.Store) error {
			_, err := s.Resend(ctx, 10, policy(), nil)
			return err
		},
		"pass: held":         func(ctx context.Context, s *store.Store) error { _, err := s.Held(ctx, policy()); return err },
		"pass: what is over": func(ctx context.Context, s *store.Store) error { _, err := s.GiveUp(ctx, 10, policy()); return err },
		"pass: receipts": func(ctx context.Context, s *store.Store) error {
			_, _, err := s.MatchReceipts(ctx, 10, nil)
			return err
		},
		"pass: old receipts": func(ctx context.Context, s *store.Store) error {
			_, err := s.DropReceipts(ctx, 10, time.Hour)
			return err
		},
		"pass: keys": func(ctx context.Context, s *store.Store) error {
			_, err := s.Recent(ctx, 10, time.Minute, time.Minute)
			return err
		},
		"pass: pruning, nobody": func(ctx context.Context, s *store.Store) error {
			_, _, err := s.Prune(ctx, 0, 100, 240*time.Hour)
			return err
		},
		"a delivery":        goesWell,
		"a failed delivery": goesWrong,
	}
}

// goesWell is a delivery that is accepted, and its duplicate.
func goesWell(ctx context.Context, s *store.Store) error {
	in := intend(push.NewOwner(), about("well"))
	for range 2 {
		a := s.Intend(ctx, []push.Intent{in})[0]
		if a.Err != nil {
			return a.Err
		}
		if a := s.Record(ctx, []push.Result{resultOf(a.Row, push.Accepted)})[0]; a.Err != nil {
			return a.Err
		}
	}
	return nil
}

// goesWrong is one whose lease is renewed, whose attempt stays in doubt, is repeated, given back, and refused.
func goesWrong(ctx context.Context, s *store.Store) error {
	in := intend(push.NewOwner(), about("wrong"), of(push.WeChat))
	a := s.Intend(ctx, []push.Intent{in})[0]
	if a.Err != nil {
		return a.Err
	}
	if k := s.Renew(ctx, []push.Held{heldBy(a.Row)})[0]; k.Err != nil {
		return k.Err
	}
	for _, step := range []func(row push.Row) push.Answer{
		func(row push.Row) push.Answer { return s.Record(ctx, []push.Result{resultOf(row, push.Ambiguous)})[0] },
		func(row push.Row) push.Answer { return s.Repeat(ctx, []push.Held{heldBy(row)})[0] },
		func(row push.Row) push.Answer { return s.Undo(ctx, []push.Held{heldBy(row)})[0] },
		func(row push.Row) push.Answer { return s.Record(ctx, []push.Result{resultOf(row, push.NotSent)})[0] },
		func(push.Row) push.Answer { return s.Look(ctx, []push.Lookup{{Identity: in.Delivery.Identity}})[0] },
	} {
		if a = step(a.Row); a.Err != nil {
			return a.Err
		}
	}
	return nil
}

// Nothing that is asked of the push log reads what has ended: neither the table from end to end, nor an index.
func TestNothingReadsWhatHasEnded(t *testing.T) {
	t.Parallel()
	const finished, most = 20_000, 600 // rows; of those that an index leads to, the same for any number of finished ones
	url := testbed.Postgres(t)
	r := at(t, url, "")
	for _, sql := range []string{finishedRows, "VACUUM ANALYZE push_log"} {
		var args []any
		if sql == finishedRows {
			args = []any{finished}
		}
		if _, err := r.db.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	r.counted(t)
	for _, status := range []push.Status{push.Failed, push.Queued, push.Unknown, push.Dead, push.Sending} {
		r.put(t, push.SMS, status, nil)
	}
	for what, ask := range asks(r) {
		scanned, n := r.reads(t, url, what, ask)
		for again := 0; scanned && again < 2; again++ { // autovacuum's own scans are counted in the same place; ours come each time
			scanned, _ = r.reads(t, url, what, ask)
		}
		if scanned {
			t.Errorf("%s reads the push log from end to end", what)
		}
		if n > most {
			t.Errorf("%s reads %d rows, want at most %d", what, n, most)
		}
	}
}

// reads asks in a session of its own: whether the push log was read from end to end meanwhile, and how many rows of it an
// index has led to.
func (r rows) reads(t *testing.T, url, what string, ask func(context.Context, *store.Store) error) (scanned bool, fetched int) {
	t.Helper()
	const name = "reach"
	scansBefore, fetchedBefore := r.read(t)
	s, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: 1, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	err = ask(t.Context(), s)
	s.Close()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for r.count(t, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()", name) > 0 {
		time.Sleep(time.Millisecond) // until its session has ended: then it has told what it read
	}
	scans, rows := r.read(t)
	return scans > scansBefore, rows - fetchedBefore
}

// read is how often the push log was read from end to end so far, and how many rows of it an index has led to.
func (r rows) read(t *testing.T) (scans, fetched int) {
	t.Helper()
	err := r.db.QueryRow(t.Context(), `SELECT seq_scan, idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'push_log'`).Scan(&scans, &fetched)
	if err != nil {
		t.Fatal(err)
	}
	return scans, fetched
}
