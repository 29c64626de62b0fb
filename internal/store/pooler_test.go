package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3/lock"

	"pusher/internal/store"
	"pusher/internal/testbed"
)

// Field report 24: a session's lock that a transaction pooler left behind hangs neither a start nor a pass, since both
// only look at the schema.
func TestFieldReport24_LookingAtTheSchemaWaitsForNoLock(t *testing.T) {
	t.Parallel()
	url := testbed.Postgres(t)
	r := at(t, url, "")
	conn, err := r.db.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, lock.DefaultLockID); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := store.MigrationStatus(ctx, url); err != nil {
		t.Error(err)
	}
}

// Field report 24: no statement of ours outlives its transaction. Only migrate, which needs a direct connection and
// says so, takes a session's lock.
func TestFieldReport24_NoSessionScopedStatements(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"pg_advisory_lock", "pg_try_advisory_lock(", "LISTEN ", "PREPARE ", "DECLARE ", "SET SESSION", "CREATE TEMP"} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s uses %s", name, word)
			}
		}
		if strings.Contains(string(text), "NewPostgresSessionLocker") && name != "migrate.go" {
			t.Errorf("%s takes a session's lock", name)
		}
	}
}
