package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// conflictTries is how often a batch that lost to another transaction is tried before its error is the answer.
const conflictTries = 6

// batch is one kind of batched call: T is asked, A answered, K names the row that an item is about.
type batch[T, A any, K cmp.Ordered] struct {
	key  func(T) K                                         // nil for reads: they need neither order nor waves
	send func(ctx context.Context, items []T) ([]A, error) // one round trip, one transaction; answers in order
	fail func(error) A                                     // an item's own error as its answer
}

// run answers every item in the order asked. Items about the same row go in waves one after another, since a
// statement sees each row once; within a wave they are ordered by key, so that two batches seldom deadlock.
func (b batch[T, A, K]) run(ctx context.Context, items []T) []A {
	answers := make([]A, len(items))
	if len(items) == 0 {
		return answers
	}
	var broken error
	for _, wave := range b.waves(items) {
		if broken == nil {
			broken = b.split(ctx, items, wave, answers)
		}
		if broken != nil {
			b.failAll(wave, answers, broken)
		}
	}
	return answers
}

// waves deals the items' indices into sets in which no key is twice.
func (b batch[T, A, K]) waves(items []T) [][]int {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	if b.key == nil {
		return [][]int{order}
	}
	keys := column(items, b.key)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(keys[i], keys[j]) })
	var waves [][]int
	nth := 0
	for at, i := range order {
		if at > 0 && keys[order[at-1]] == keys[i] {
			nth++
		} else {
			nth = 0
		}
		if nth == len(waves) {
			waves = append(waves, nil)
		}
		waves[nth] = append(waves[nth], i)
	}
	return waves
}

// split sends a wave. If PostgreSQL refuses it for its data, the wave is halved until the item at fault stands alone
// with its error; any other error is the whole batch's and is returned: what
// was written is then found out by asking again.
func (b batch[T, A, K]) split(ctx context.Context, items []T, wave []int, answers []A) error {
	chosen := make([]T, len(wave))
	for n, i := range wave {
		chosen[n] = items[i]
	}
	got, err := withoutConflict(ctx, func() ([]A, error) { return b.send(ctx, chosen) })
	switch {
	case err == nil:
		for n, i := range wave {
			answers[i] = got[n]
		}
		return nil
	case !refusedData(err):
		return err
	case len(wave) == 1:
		answers[wave[0]] = b.fail(err)
		return nil
	}
	half := len(wave) / 2 // each half is a transaction of its own
	if err := b.split(ctx, items, wave[:half], answers); err != nil {
		return err
	}
	return b.split(ctx, items, wave[half:], answers)
}

// failAll answers a wave with one error.
func (b batch[T, A, K]) failAll(wave []int, answers []A, err error) {
	for _, i := range wave {
		answers[i] = b.fail(err)
	}
}

// withoutConflict repeats what lost to a concurrent transaction (serialization failure, deadlock), with jitter: it
// changed nothing.
func withoutConflict[R any](ctx context.Context, do func() (R, error)) (R, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = 5 * time.Millisecond
	wait.MaxInterval = 200 * time.Millisecond
	return backoff.Retry(ctx, func() (R, error) {
		r, err := do()
		if err != nil && !conflict(err) {
			return r, backoff.Permanent(err)
		}
		return r, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(conflictTries))
}

// conflict reports whether err says that another transaction was in the way: serialization failure or deadlock.
func conflict(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

// refusedData reports whether PostgreSQL refused what a row holds: a cardinality violation, data it cannot hold, a
// violated constraint, or a program limit such as an over-long index entry.
func refusedData(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return slices.ContainsFunc([]string{"21", "22", "23", "54"}, func(class string) bool {
		return strings.HasPrefix(pg.Code, class)
	})
}

// column picks one column of a batch, to be unnested by PostgreSQL.
func column[T, V any](items []T, pick func(T) V) []V {
	values := make([]V, len(items))
	for i, item := range items {
		values[i] = pick(item)
	}
	return values
}
