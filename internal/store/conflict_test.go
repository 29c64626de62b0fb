package store

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// numbers is a batch of numbers answered by themselves; send may refuse.
func numbers(send func([]int) error) batch[int, int, int] {
	return batch[int, int, int]{
		key:  func(n int) int { return n },
		fail: func(error) int { return -1 },
		send: func(_ context.Context, items []int) ([]int, error) { return items, send(items) },
	}
}

func TestConflictIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"40001", "40P01"} {
		tries := 0
		got := numbers(func([]int) error {
			if tries++; tries < 3 {
				return &pgconn.PgError{Code: code}
			}
			return nil
		}).run(t.Context(), []int{3, 1, 2})
		if !slices.Equal(got, []int{3, 1, 2}) || tries != 3 {
			t.Errorf("%s: %v after %d tries", code, got, tries)
		}
	}
}

func TestConflictWithoutEndIsTheAnswer(t *testing.T) {
	t.Parallel()
	tries := 0
	got := numbers(func([]int) error { tries++; return &pgconn.PgError{Code: "40P01"} }).run(t.Context(), []int{1, 2})
	if !slices.Equal(got, []int{-1, -1}) || tries != conflictTries {
		t.Errorf("%v after %d tries", got, tries)
	}
}

func TestRefusalIsNarrowedDownAndNothingElseIs(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"21000", "22P02", "23514", "54000"} {
		got := numbers(func(items []int) error {
			if slices.Contains(items, 4) || slices.Contains(items, 7) {
				return &pgconn.PgError{Code: code}
			}
			return nil
		}).run(t.Context(), []int{1, 2, 3, 4, 5, 6, 7, 8})
		if !slices.Equal(got, []int{1, 2, 3, -1, 5, 6, -1, 8}) {
			t.Errorf("%s: %v, want only 4 and 7 refused", code, got)
		}
	}
	sends := 0
	numbers(func([]int) error { sends++; return errors.New("connection reset") }).run(t.Context(), []int{1, 2, 2})
	if sends != 1 {
		t.Errorf("a broken connection was tried %d times, want once: the caller asks again", sends)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "a\x00b": "ab", "\xff": "\uFFFD", "\xed\xa0\x80": "\uFFFD", "短短短短短短": "短短短短短", "": "",
	} {
		if got := clean(in, 5); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}
