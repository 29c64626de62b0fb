package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"

	"pusher/internal/sandbox/local"
)

// postgresRelease is the PostgreSQL that is fetched: the jar io.zonky.test.postgres:embedded-postgres-binaries-<os>-<arch>
// of this version on Maven Central, its checksum compared.
const postgresRelease = embeddedpostgres.V18

// rootCache holds the programs where root starts them: the user who is to run them cannot enter root's own cache.
const rootCache = "/var/cache/pusher"

// Postgres starts a PostgreSQL; the first time on a machine it fetches the programs (15 MB). When ctx ends meanwhile, the
// fetch is left to end by itself.
func Postgres(ctx context.Context) (*local.Server, error) {
	dir, err := postgresDir()
	if err != nil {
		return nil, err
	}
	fetched := make(chan error, 1)
	go func() { fetched <- unpack(dir) }() // nobody waits for it once ctx ends: the library cannot be interrupted
	select {
	case err = <-fetched:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("fetching PostgreSQL %s: %w", postgresRelease, err)
	}
	return local.Postgres(ctx, filepath.Join(dir, "bin"))
}

// postgresDir is where the programs are unpacked.
func postgresDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("looking for a cache directory: %w", err)
	}
	cache = filepath.Join(cache, "pusher")
	if os.Geteuid() == 0 {
		cache = rootCache
	}
	return filepath.Join(cache, "postgres-"+string(postgresRelease)), nil
}

// unpack puts the programs into dir unless they are there. The library can only fetch, unpack and start in one, and as
// the caller; so it unpacks beside dir, is given a data directory that is none, and the start that it refuses says
// that the rest is done. The rename makes dir appear whole or not at all, also when two processes unpack at once.
func unpack(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	stage, err := os.MkdirTemp(filepath.Dir(dir), "unpacking-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	port, err := local.FreePort()
	if err != nil {
		return err
	}
	programs, data := filepath.Join(stage, "programs"), filepath.Join(stage, "data")
	if err := pretendData(data); err != nil {
		return err
	}
	defer http.DefaultClient.CloseIdleConnections() // the library fetches with it
	err = embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().Version(postgresRelease).
		CachePath(filepath.Join(stage, "fetched")).BinariesPath(programs).RuntimePath(filepath.Join(stage, "run")).
		DataPath(data).Port(uint32(port)).Logger(io.Discard)).Start()
	if err == nil || !strings.HasPrefix(err.Error(), "could not start postgres") {
		return errors.Join(errors.New("unpacking the programs"), err)
	}
	if err := os.Chmod(programs, 0o755); err != nil {
		return err
	}
	if err := os.Rename(programs, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// pretendData makes a data directory that has a version and nothing else: PostgreSQL refuses to start on it, as any user.
func pretendData(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	major, _, _ := strings.Cut(string(postgresRelease), ".")
	return os.WriteFile(filepath.Join(dir, "PG_VERSION"), []byte(major+"\n"), 0o600)
}
