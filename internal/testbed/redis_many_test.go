package testbed

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestRedisSentinelFailsOver(t *testing.T) {
	t.Parallel()
	s := RedisSentinel(t, 1, 1)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: s.Addrs})
	defer client.Close()
	if err := client.Set(t.Context(), "k", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Master(t).Kill()
	await(t, "the replica is the master", func(ctx context.Context) error { return client.Set(ctx, "k", 2, 0).Err() })
	if s.Master(t) == s.Nodes[0] {
		t.Error("the sentinel still holds the dead node for the master")
	}
}

func TestRedisClusterTakesKeysOfEverySlot(t *testing.T) {
	t.Parallel()
	nodes := RedisCluster(t, 3)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr}})
	defer client.Close()
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := client.Set(t.Context(), key, 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
}
