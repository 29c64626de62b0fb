package testbed

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // goose speaks database/sql
	"github.com/pressly/goose/v3"

	"pusher/migrations"
)

// templateLock is the advisory lock under which one process at a time makes the template. Any number that nobody else
// uses will do.
const templateLock = 0x70757368

// templateMu keeps the tests of one process from queueing for the lock with a connection each.
var templateMu sync.Mutex //nolint:gochecknoglobals // goes with the shared server

// Postgres gives the test a database of its own in the PostgreSQL that the tests of this process share, with the schema
// migrated and no rows, and returns its URL. It is dropped after the test.
func Postgres(t testing.TB) string {
	t.Helper()
	return MigratedDatabase(t, shared.server(t, "postgres").URL)
}

// EmptyPostgres is Postgres without the schema, for tests of the migrations themselves.
func EmptyPostgres(t testing.TB) string {
	t.Helper()
	return database(t, shared.server(t, "postgres").URL, "template1")
}

// MigratedDatabase makes a database with the schema in the PostgreSQL at server, for instance that of OwnPostgres, and
// returns its URL.
func MigratedDatabase(t testing.TB, server string) string {
	t.Helper()
	templateMu.Lock()
	template, err := ensureTemplate(t.Context(), server)
	templateMu.Unlock()
	if err != nil {
		t.Fatalf("making the template database: %v", err)
	}
	return database(t, server, template)
}

// database clones a template for the test.
func database(t testing.TB, server, template string) string {
	t.Helper()
	name := "test_" + hex.EncodeToString(uuidBytes())
	if err := execute(t.Context(), server, fmt.Sprintf("create database %s template %s", name, template)); err != nil {
		t.Fatalf("cloning %s: %v", template, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // the test's own is over
		defer cancel()
		// A server that the test stopped takes its databases with it.
		_ = execute(ctx, server, fmt.Sprintf("drop database if exists %s with (force)", name))
	})
	return withDatabase(server, name)
}

func uuidBytes() []byte {
	id := uuid.New()
	return id[:8]
}

// ensureTemplate makes the migrated template unless it is there, and returns its name, which follows from the
// migrations: changed ones get a template of their own.
func ensureTemplate(ctx context.Context, server string) (string, error) {
	name, err := templateName()
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // ends the session, and with it the lock
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", templateLock); err != nil {
		return "", err
	}
	var done bool
	err = conn.QueryRow(ctx, "select datistemplate from pg_database where datname = $1", name).Scan(&done)
	if done {
		return name, nil
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", err
	}
	return name, makeTemplate(ctx, conn, server, name)
}

// makeTemplate drops what a killed process may have left half made, migrates a new database and only then marks it.
func makeTemplate(ctx context.Context, conn *pgx.Conn, server, name string) error {
	for _, statement := range []string{"drop database if exists " + name + " with (force)", "create database " + name} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	if err := migrate(ctx, withDatabase(server, name)); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "alter database "+name+" is_template true")
	return err
}

func migrate(ctx context.Context, url string) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// templateName is made of the migrations' names and text.
func templateName() (string, error) {
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, file := range files {
		text, err := fs.ReadFile(migrations.FS, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", file, len(text), text)
	}
	return "pusher_" + hex.EncodeToString(hash.Sum(nil)[:6]), nil
}

func execute(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, statement)
	return err
}

// withDatabase is the URL of another database of the same server.
func withDatabase(server, name string) string {
	parsed, err := url.Parse(server)
	if err != nil {
		return server // it was parsed before it came here
	}
	parsed.Path = "/" + name
	return parsed.String()
}
