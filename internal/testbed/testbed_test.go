package testbed

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"pusher/internal/sandbox/local"
)

func TestMain(m *testing.M) { Main(m) }

func TestEachTestHasAnEmptyRedisDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 5 {
		opts := Redis(t)
		if seen[opts.DB] || opts.DB == 0 {
			t.Errorf("database %d was given twice or is the one of the leases", opts.DB)
		}
		seen[opts.DB] = true
		client := redis.NewClient(opts)
		defer client.Close()
		if size, err := client.DBSize(t.Context()).Result(); err != nil || size != 0 {
			t.Errorf("database %d begins with %d keys, %v; want none", opts.DB, size, err)
		}
		client.Set(t.Context(), "key", "value", 0)
	}
}

func TestARedisDatabaseComesBackEmptyAfterItsTest(t *testing.T) {
	t.Parallel()
	var used *redis.Options
	t.Cleanup(func() { // runs once the subtest and its own clean-up are done
		client := redis.NewClient(used)
		defer client.Close()
		if size, err := client.DBSize(context.Background()).Result(); err != nil || size != 0 {
			t.Errorf("the database still has %d keys, %v; want none", size, err)
		}
	})
	t.Run("user", func(t *testing.T) {
		t.Parallel()
		used = Redis(t)
		client := redis.NewClient(used)
		defer client.Close()
		if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestEachTestHasAMigratedDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	const tests = 6
	urls := make([]string, tests)
	var all sync.WaitGroup
	for i := range urls { // at once, as parallel tests do
		all.Go(func() { urls[i] = Postgres(t) })
	}
	all.Wait()
	for _, url := range urls {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := conn.QueryRow(t.Context(), "select count(*) from push_log").Scan(&rows); err != nil || rows != 0 {
			t.Errorf("push_log has %d rows, %v; want the table, and none", rows, err)
		}
		if _, err := conn.Exec(t.Context(), "drop table push_log cascade"); err != nil {
			t.Error(err)
		}
		conn.Close(t.Context())
	}
}

func TestAnEmptyDatabaseHasNoSchema(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), EmptyPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var tables int
	err = conn.QueryRow(t.Context(), "select count(*) from pg_tables where schemaname = 'public'").Scan(&tables)
	if err != nil || tables != 0 {
		t.Errorf("public has %d tables, %v; want none", tables, err)
	}
}

func TestTopicsAreUsableAtOnceAndNeverTheSame(t *testing.T) {
	t.Parallel()
	first, second := Topic(t, 3), Topic(t, 1)
	if first == second || !strings.HasPrefix(first, t.Name()) {
		t.Errorf("topics %s and %s; want two names that begin with the test's", first, second)
	}
	client, done := kafkaClient(Kafka(t)[0])
	defer done()
	if err := usable(t.Context(), client, first, 3); err != nil {
		t.Error(err)
	}
}

func TestOwnServersComeBackWithTheirDataOnTheSamePort(t *testing.T) {
	t.Parallel()
	t.Run("kafka", func(t *testing.T) {
		t.Parallel()
		own := OwnKafka(t)
		MakeTopic(t, own.Addr, "kept", 2)
		restart(t, own, func() error { return local.PingKafka(t.Context(), own.Addr) })
		client, done := kafkaClient(own.Addr)
		defer done()
		if err := usable(t.Context(), client, "kept", 2); err != nil {
			t.Error(err)
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		own := OwnRedis(t)
		client := redis.NewClient(&redis.Options{Addr: own.Addr})
		defer client.Close()
		if err := client.Set(t.Context(), "kept", "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
		restart(t, own, func() error { return local.PingRedis(t.Context(), own.Addr) })
		if got, err := client.Get(t.Context(), "kept").Result(); got != "1" {
			t.Errorf("kept = %q, %v; want 1", got, err)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		own := OwnPostgres(t)
		url := MigratedDatabase(t, own.URL)
		restart(t, own, func() error { return local.PingPostgres(t.Context(), own.URL) })
		if err := execute(t.Context(), url, "select 1 from push_log"); err != nil {
			t.Error(err)
		}
	})
}

func restart(t *testing.T, own *Own, ping func() error) {
	t.Helper()
	own.Stop()
	if ping() == nil {
		t.Errorf("%s answers after Stop", own)
	}
	own.Start()
	if err := ping(); err != nil {
		t.Errorf("%s does not answer after Start: %v", own, err)
	}
	own.Kill()
	own.Start()
}

func TestAGivenServerIsTakenAndNotStopped(t *testing.T) { // not parallel: it sets the environment
	own := OwnRedis(t)
	t.Setenv("TESTBED_REDIS", own.Addr)
	given, err := Start(t.Context(), "redis")
	if err != nil {
		t.Fatal(err)
	}
	if given.Kind != Given || given.Env() != "TESTBED_REDIS="+own.Addr {
		t.Errorf("%s by %s; want the given one", given, given.Env())
	}
	if err := given.Close(); err != nil {
		t.Error(err)
	}
	if err := local.PingRedis(t.Context(), own.Addr); err != nil {
		t.Errorf("the given redis after Close: %v; want it alive", err)
	}
	own.Stop()
	if _, err := Start(t.Context(), "redis"); err == nil || !strings.Contains(err.Error(), "TESTBED_REDIS") {
		t.Errorf("a given redis that is away = %v; want an error that names TESTBED_REDIS", err)
	}
}

func TestContainersRunWhereDockerAnswers(t *testing.T) {
	t.Parallel()
	if err := DockerAnswers(t.Context()); err != nil {
		if !errors.Is(err, local.ErrNotInstalled) {
			t.Errorf("%v does not say that Docker is not there", err)
		}
		t.Skipf("containers are not tried here: %v", err)
	}
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := service.container(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			server.Name, server.Kind = name, Container
			own := &Own{Server: server, t: t}
			t.Cleanup(func() { _ = server.Close() })
			own.Stop()
			own.Start()
		})
	}
}
