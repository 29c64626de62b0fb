package store_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"pusher/internal/store"
	"pusher/internal/testbed"
)

// fresh opens a store on an empty push log of the test's own.
func fresh(t *testing.T) rows {
	t.Helper()
	return at(t, testbed.Postgres(t), "")
}

// at opens a store at url, and beside it a pool whose sessions have the time zone zone (the server's own if empty).
func at(t *testing.T, url, zone string) rows {
	t.Helper()
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if zone != "" {
		cfg.ConnConfig.RuntimeParams["timezone"] = zone
	}
	db, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return rows{Store: s, db: db}
}
