package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"pusher/internal/dedup"
)

// guardFor is how long each figure of the guard is measured.
const guardFor = 2 * time.Second

// guard measures what dedup.Guard costs a call, around a handler that does nothing: one call after the other on one
// connection, where the round trips to Redis are nearly all of it, and a hundred at once. One PING is the measure.
func (b *bench) guard(ctx context.Context, stage string) error {
	b.rooms++
	r := room{redisDB: b.rooms}
	client := b.keys(r)
	defer client.Close()
	guard, err := dedup.NewGuard(client, dedup.GuardConfig[string, int]{
		Name: "bench", Key: func(key string) (string, error) { return key, nil }, Window: time.Minute, Lease: 10 * time.Second, MaxAnswer: 100,
	})
	if err != nil {
		return err
	}
	n := 0
	next := func() string { n++; return strconv.Itoa(n) }
	nothing := func(context.Context, string) (int, error) { return 1, nil }
	all := func(context.Context, []int, []dedup.Result[int]) {}
	ping, err := perCall(1, func() error { return client.Ping(ctx).Err() })
	if err != nil {
		return err
	}
	b.notef(stage, "one PING to Redis", "%.1f µs", ping)
	for _, m := range []struct {
		what  string
		calls int
		do    func() error
	}{
		{"a guarded call's own cost: claim and settle", 1, func() error { _, err := guard.Do(ctx, next(), nothing); return err }},
		{"a repeated call's: its answer", 1, func() error { return repeated(guard.Do(ctx, "1", nothing)) }},
		{"of a hundred calls at once, each", 100, func() error {
			keys := make([]string, 100)
			for i := range keys {
				keys[i] = next()
			}
			return guard.DoAll(ctx, keys, all)[0].Err
		}},
	} {
		took, err := perCall(m.calls, m.do)
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		b.notef(stage, m.what, "%.1f µs, %.1f PINGs", took, took/ping)
	}
	return client.FlushDB(ctx).Err()
}

// perCall is how many microseconds one of the calls takes that do makes.
func perCall(calls int, do func() error) (float64, error) {
	began, n := time.Now(), 0
	for time.Since(began) < guardFor {
		if err := do(); err != nil {
			return 0, err
		}
		n += calls
	}
	return float64(time.Since(began).Nanoseconds()) / 1000 / float64(n), nil
}

// repeated wants to be told that the call was done before, with its answer.
func repeated(answer int, err error) error {
	if again, ok := errors.AsType[*dedup.RepeatedError](err); ok && again.Kept && answer == 1 {
		return nil
	}
	return fmt.Errorf("a repeated call answered %d: %w", answer, err)
}
