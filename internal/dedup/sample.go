package dedup

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// The bounds of a look at one Redis: its cost does not grow with the number of keys.
const (
	scanStep   = 250 // keys asked for at once
	scanSteps  = 4
	weighedMax = 64 // keys of which the memory is asked
)

// keyPrefix begins every dedup key.
const keyPrefix = "push:dedup:"

// Sample is an estimate of the dedup keys, from a bounded number of them; of a cluster, over all its masters.
type Sample struct {
	Keys    float64
	Bytes   float64 // of their memory; < 0 where Redis does not tell
	Evicted int64   // keys of any kind that Redis forgot before their time, since it started; < 0 where it does not tell
}

// Look takes a sample. It never uses KEYS: a few steps of SCAN say which share of all keys are ours, DBSIZE how many
// there are, MEMORY USAGE of some how large they are.
func Look(ctx context.Context, client redis.UniversalClient) (Sample, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return look(ctx, client)
	}
	var mu sync.Mutex // guards sum: the masters are asked at once
	var sum Sample
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		one, err := look(ctx, node)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		sum = sum.and(one)
		return nil
	})
	return sum, err
}

// and adds the sample of another master; what one does not tell the whole does not know.
func (s Sample) and(o Sample) Sample {
	sum := Sample{Keys: s.Keys + o.Keys, Bytes: s.Bytes + o.Bytes, Evicted: s.Evicted + o.Evicted}
	if s.Bytes < 0 || o.Bytes < 0 {
		sum.Bytes = -1
	}
	if s.Evicted < 0 || o.Evicted < 0 {
		sum.Evicted = -1
	}
	return sum
}

func look(ctx context.Context, client redis.Cmdable) (Sample, error) {
	size, err := client.DBSize(ctx).Result()
	if err != nil {
		return Sample{}, fmt.Errorf("counting the keys of redis: %w", err)
	}
	ours, seen, all, err := scan(ctx, client)
	if err != nil {
		return Sample{}, fmt.Errorf("sampling the keys of redis: %w", err)
	}
	s := Sample{Evicted: evicted(ctx, client)}
	switch {
	case all:
		s.Keys = float64(len(ours))
	case seen > 0:
		s.Keys = float64(size) * float64(len(ours)) / float64(seen)
	}
	s.Bytes = s.Keys * weigh(ctx, client, ours[:min(len(ours), weighedMax)])
	return s, nil
}

// scan looks at some keys and returns ours among them; all: there are no others.
func scan(ctx context.Context, client redis.Cmdable) (ours []string, seen int, all bool, err error) {
	var cursor uint64
	for range scanSteps {
		var keys []string
		if keys, cursor, err = client.Scan(ctx, cursor, "", scanStep).Result(); err != nil {
			return nil, 0, false, err
		}
		seen += len(keys)
		for _, key := range keys {
			if strings.HasPrefix(key, keyPrefix) {
				ours = append(ours, key)
			}
		}
		if cursor == 0 {
			return ours, seen, true, nil
		}
	}
	return ours, seen, false, nil
}

// weigh is the mean memory of keys in bytes; -1 where Redis does not tell, 0 of none.
func weigh(ctx context.Context, client redis.Cmdable, keys []string) float64 {
	if len(keys) == 0 {
		return 0
	}
	answers := make([]*redis.IntCmd, len(keys))
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its own error
		for i, key := range keys {
			answers[i] = p.MemoryUsage(ctx, key)
		}
		return nil
	})
	var sum, n float64
	for _, a := range answers {
		if bytes, err := a.Result(); err == nil {
			sum, n = sum+float64(bytes), n+1
		}
	}
	if n == 0 {
		return -1
	}
	return sum / n
}

// evicted is how many keys Redis forgot to make room; -1 where it does not tell.
func evicted(ctx context.Context, client redis.Cmdable) int64 {
	info, _ := client.Info(ctx, "stats").Result()
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(line, "evicted_keys:"); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
