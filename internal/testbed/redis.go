package testbed

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/sandbox/local"
)

// A test's Redis database is a lease on its number, kept in database 0, so that processes and tests that share a server
// never meet. The lease outlives any test, and a killed one's number comes back.
const (
	leasePrefix = "testbed:db:"
	leaseNext   = "testbed:next"
	leaseTime   = 15 * time.Minute
)

// Redis gives the test a database of its own in the Redis that the tests of this process share, empty, as options for a
// client. FLUSHDB is the test's own affair; for FLUSHALL, SCRIPT FLUSH, CONFIG SET and the like take OwnRedis.
func Redis(t testing.TB) *redis.Options {
	t.Helper()
	addr := shared.server(t, "redis").Addr
	leases := redis.NewClient(&redis.Options{Addr: addr})
	db, err := leaseDB(t.Context(), leases)
	if err != nil {
		_ = leases.Close()
		t.Fatalf("taking a redis database: %v", err)
	}
	t.Cleanup(func() {
		defer leases.Close()
		if err := flushDB(context.Background(), addr, db); err != nil { // the test's own context is over
			t.Errorf("emptying redis database %d: %v", db, err)
		}
		leases.Del(context.Background(), leasePrefix+strconv.Itoa(db))
	})
	if err := flushDB(t.Context(), addr, db); err != nil {
		t.Fatalf("emptying redis database %d: %v", db, err)
	}
	return &redis.Options{Addr: addr, DB: db}
}

// leaseDB finds a free database by going round from where the last test found one.
func leaseDB(ctx context.Context, leases *redis.Client) (int, error) {
	databases := countDBs(ctx, leases.Options().Addr)
	for range 10 * databases {
		next, err := leases.Incr(ctx, leaseNext).Result()
		if err != nil {
			return 0, err
		}
		db := 1 + int(next)%(databases-1) // 0 holds the leases
		free, err := leases.SetNX(ctx, leasePrefix+strconv.Itoa(db), "taken", leaseTime).Result()
		if err != nil || free {
			return db, err
		}
		if int(next)%databases == 0 { // a round without success: wait for a test to end
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(time.Second):
			}
		}
	}
	return 0, fmt.Errorf("all %d are taken", databases)
}

// countDBs tells how many databases there are: as many as our own servers have, else Redis's default.
func countDBs(ctx context.Context, addr string) int {
	const byDefault = 16
	last := redis.NewClient(&redis.Options{Addr: addr, DB: local.RedisDatabases - 1, MaxRetries: -1})
	defer last.Close()
	if last.Ping(ctx).Err() != nil {
		return byDefault
	}
	return local.RedisDatabases
}

func flushDB(ctx context.Context, addr string, db int) error {
	client := redis.NewClient(&redis.Options{Addr: addr, DB: db})
	defer client.Close()
	return client.FlushDB(ctx).Err()
}
