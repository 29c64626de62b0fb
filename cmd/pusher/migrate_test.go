package main

import (
	"strings"
	"testing"

	"pusher/internal/testbed"
)

func TestMigrateUpStatusDown(t *testing.T) {
	t.Parallel()
	config := file(t, "postgres: {url: \""+testbed.EmptyPostgres(t)+"\"}\n")
	steps := []struct{ command, says, not string }{
		{"status", "pending  00001", "applied"},
		{"up", "applied  00001", "pending"},
		{"up", "nothing to do", "applied"},
		{"status", "applied  00001", "pending"},
		{"down", "removed  00001", "applied"},
		{"status", "pending  00001", "applied"},
	}
	for i, s := range steps {
		got := execute(t.Context(), "", "migrate", s.command, "--config", config)
		if got.code != 0 || !strings.Contains(got.stdout, s.says) || strings.Contains(got.stdout, s.not) {
			t.Fatalf("step %d, %s: got %+v", i, s.command, got)
		}
	}
}

func TestMigrateNamesAServerThatIsAwayButNotItsPassword(t *testing.T) {
	t.Parallel()
	config := file(t, "postgres: {url: \"postgres://u:hunter2@127.0.0.1:1/db\"}\n")
	got := execute(t.Context(), "", "migrate", "up", "--config", config)
	if got.code != 1 || !strings.Contains(got.stderr, "127.0.0.1:1") || strings.Contains(got.stderr, "hunter2") || len(got.complaints()) != 1 {
		t.Errorf("got %+v", got)
	}
}
