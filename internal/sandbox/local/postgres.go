package local

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// postgresVersion finds the version in what postgres --version prints: "postgres (PostgreSQL) 15.13 (Debian ...)".
var postgresVersion = regexp.MustCompile(`\(PostgreSQL\) ([0-9.]+)`)

// PostgresBin finds the directory with PostgreSQL's server programs: that of initdb on PATH, what pg_config says, or the
// newest under /usr/lib/postgresql, where Debian keeps them off PATH. The error wraps ErrNotInstalled.
func PostgresBin() (string, error) {
	for _, dir := range postgresDirs() {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("looking for initdb: %w", ErrNotInstalled)
}

func postgresDirs() []string {
	var dirs []string
	if initdb, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(initdb))
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(debian)
	return append(dirs, debian...)
}

// Postgres initialises a cluster with the programs in bin and starts it. Root may not run PostgreSQL: then an
// unprivileged user does, who must be able to reach bin. settings ("fsync=on") come before those that suit tests.
func Postgres(ctx context.Context, bin string, settings ...string) (*Server, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	owner, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(tempFor(owner), "pusher-postgres-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for postgres: %w", err)
	}
	program := filepath.Join(bin, "postgres")
	s := &Server{
		Name: "postgres", Version: version(program, postgresVersion), Addr: loopback(port),
		dir: dir, owner: owner,
		stop:    syscall.SIGINT,  // "fast": ends sessions, then shuts down
		crash:   syscall.SIGQUIT, // "immediate": recovery at the next start; killed, it would leave children behind
		command: func() *exec.Cmd { return exec.Command(program, postgresFlags(dir, port, settings)...) },
	}
	if err := s.initdb(filepath.Join(bin, "initdb")); err != nil {
		_ = s.Close() // the first error tells more
		return nil, err
	}
	s.ready = func(ctx context.Context) error { return PingPostgres(ctx, s.URL) }
	return started(ctx, s)
}

// initdb makes the cluster and sets s.URL, with a password: the port is open to every user of this machine.
func (s *Server) initdb(program string) error {
	password := rand.Text()
	s.URL = fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable", password, s.Addr)
	file := filepath.Join(s.dir, "password")
	if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
		return fmt.Errorf("writing the password file: %w", err)
	}
	if err := give(s.owner, s.dir, file); err != nil {
		return err
	}
	cmd := exec.Command(program, "--pgdata", filepath.Join(s.dir, "data"), "--username", "postgres",
		"--pwfile", file, "--auth", "password", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	cmd.Dir = s.dir
	cmd.SysProcAttr = childAttr(s.owner)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running %s: %w\n%s", program, err, out)
	}
	return os.Remove(file)
}

// postgresFlags settle what tests want: nothing survives a power cut, and nothing runs that they did not ask for.
// Of a setting that is there twice PostgreSQL takes the last.
func postgresFlags(dir string, port int, settings []string) []string {
	flags := []string{"-D", filepath.Join(dir, "data")}
	for _, setting := range append([]string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(port), "unix_socket_directories=",
		"max_connections=300", "fsync=off", "full_page_writes=off", "autovacuum=off", "timezone=UTC",
	}, settings...) {
		flags = append(flags, "-c", setting)
	}
	return flags
}

// PingPostgres asks a PostgreSQL whether it takes sessions.
func PingPostgres(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
