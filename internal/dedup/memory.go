package dedup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// NoEviction is the only maxmemory policy under which Redis never forgets a key before its time.
const NoEviction = "noeviction"

// ErrPolicyUnknown says that Redis does not tell its maxmemory policy.
var ErrPolicyUnknown = errors.New("redis does not tell its maxmemory policy")

// MaxmemoryPolicy returns Redis's maxmemory policy; of a cluster, the first one of its masters that is not NoEviction.
// Under any other, Redis may evict dedup keys: nothing is sent twice then, but the push log does all the work. It is
// read from INFO, which also those allow who refuse CONFIG; where it is refused too the error says so.
func MaxmemoryPolicy(ctx context.Context, client redis.UniversalClient) (string, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return policy(ctx, client)
	}
	var mu sync.Mutex // guards found: the masters are asked at once
	found := NoEviction
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		name, err := policy(ctx, node)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if found == NoEviction {
			found = name
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return found, nil
}

func policy(ctx context.Context, client redis.Cmdable) (string, error) {
	info, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return "", fmt.Errorf("asking redis for its maxmemory policy: %w", err)
	}
	for line := range strings.Lines(info) {
		if name, ok := strings.CutPrefix(line, "maxmemory_policy:"); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", ErrPolicyUnknown
}
