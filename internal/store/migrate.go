package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"pusher/migrations"
)

// Migration is one step of the schema and whether the database has it.
type Migration struct {
	Version int64
	Name    string // file name
	Applied bool
}

// Migrate brings the schema up to date and returns the migrations it applied. Two at once wait for each other.
func Migrate(ctx context.Context, url string) ([]Migration, error) {
	return migrate(ctx, url, "migrating up", (*goose.Provider).Up)
}

// MigrateDown takes back every migration, and with them all data.
func MigrateDown(ctx context.Context, url string) ([]Migration, error) {
	return migrate(ctx, url, "migrating down", func(p *goose.Provider, ctx context.Context) ([]*goose.MigrationResult, error) {
		return p.DownTo(ctx, 0)
	})
}

// MigrationStatus lists all migrations, oldest first. It takes no lock: every start and every pass asks, through a
// transaction pooler too, where a session's lock would stay behind and hang whoever asks next.
func MigrationStatus(ctx context.Context, url string) ([]Migration, error) {
	provider, done, err := schema(url)
	if err != nil {
		return nil, err
	}
	defer done()
	status, err := provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading schema version: %w", err)
	}
	list := make([]Migration, len(status))
	for i, m := range status {
		list[i] = Migration{Version: m.Source.Version, Name: m.Source.Path, Applied: m.State == goose.StateApplied}
	}
	return list, nil
}

// migrate runs one direction; it returns what was done even when a later step failed. A session lock makes concurrent
// migrations take turns, so migrations need a direct connection, not one through a transaction pooler.
func migrate(ctx context.Context, url, what string,
	run func(*goose.Provider, context.Context) ([]*goose.MigrationResult, error)) ([]Migration, error) {
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, fmt.Errorf("preparing the schema lock: %w", err)
	}
	provider, done, err := schema(url, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, err
	}
	defer done()
	results, err := run(provider, ctx)
	list := make([]Migration, len(results))
	for i, r := range results {
		list[i] = Migration{Version: r.Source.Version, Name: r.Source.Path, Applied: r.Direction == "up"}
	}
	if err != nil {
		return list, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// schema opens goose on a connection pool of its own; done closes it.
func schema(url string, options ...goose.ProviderOption) (provider *goose.Provider, done func(), err error) {
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, nil, fmt.Errorf("reading postgres.url: %w", err)
	}
	if cc.ConnectTimeout <= 0 {
		cc.ConnectTimeout = defaultConnectTimeout
	}
	db := stdlib.OpenDB(*cc)
	provider, err = goose.NewProvider(goose.DialectPostgres, db, migrations.FS,
		append(options, goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		_ = db.Close()
		return nil, nil, fmt.Errorf("reading migrations: %w", err)
	}
	return provider, func() { _ = provider.Close() }, nil
}
