package dedup

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/testbed"
)

func TestSampleOfFewKeysIsExact(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		fill(t, client, keyPrefix, 30)
		fill(t, client, "session:", 20)
		got, err := Look(t.Context(), client)
		if err != nil || got.Keys != 30 {
			t.Errorf("got %+v, %v, want 30 keys", got, err)
		}
	})
}

func TestSampleOfManyKeysIsBoundedAndNear(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Addrs: []string{startRedis(t).addr}})
	fill(t, client, keyPrefix, 30_000)
	fill(t, client, "session:", 10_000)
	got, err := Look(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Keys-30_000) > 4_000 {
		t.Errorf("%.0f keys, want about 30000", got.Keys)
	}
	if mean := got.Bytes / got.Keys; mean < 50 || mean > 500 || got.Evicted != 0 {
		t.Errorf("got %+v, want a hundred bytes or so a key", got)
	}
	calls, err := client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("cmdstat_scan:calls=%d,", scanSteps); !strings.Contains(calls, want) || strings.Contains(calls, "cmdstat_keys:") {
		t.Errorf("want %s and no KEYS in\n%s", want, calls)
	}
}

func TestSampleWithoutRedisIsAnError(t *testing.T) {
	t.Parallel()
	client, err := Open(Config{Addrs: []string{"127.0.0.1:1"}, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if got, err := Look(t.Context(), client); err == nil {
		t.Errorf("got %+v", got)
	}
}

// Of a cluster each master is asked for its own keys: what one of them holds is a part only.
func TestSampleOfAClusterIsOfAllItsMasters(t *testing.T) {
	t.Parallel()
	nodes := testbed.RedisCluster(t, 3)
	client := connect(t, Config{Addrs: []string{nodes[0].Addr}, Mode: Cluster})
	fill(t, client, keyPrefix, 600)
	fill(t, client, "session:", 300)
	got, err := Look(t.Context(), client)
	if err != nil || got.Keys != 600 || got.Evicted != 0 {
		t.Errorf("got %+v, %v, want 600 keys", got, err)
	}
	if mean := got.Bytes / got.Keys; mean < 50 || mean > 500 {
		t.Errorf("got %+v, want a hundred bytes or so a key", got)
	}
	nodes[2].Kill()
	if got, err := Look(t.Context(), client); err == nil {
		t.Errorf("got %+v although a third of the keys was not asked for", got)
	}
}

func TestSamplesOfMastersAddUp(t *testing.T) {
	t.Parallel()
	got := Sample{Keys: 1, Bytes: 10, Evicted: 1}.and(Sample{Keys: 2, Bytes: 20, Evicted: 2})
	if got != (Sample{Keys: 3, Bytes: 30, Evicted: 3}) {
		t.Errorf("got %+v", got)
	}
	if got = got.and(Sample{Keys: 1, Bytes: -1, Evicted: -1}); got != (Sample{Keys: 4, Bytes: -1, Evicted: -1}) {
		t.Errorf("got %+v: what one master does not tell nobody knows", got)
	}
}

// fill sets n keys of some length.
func fill(t *testing.T, client redis.UniversalClient, prefix string, n int) {
	t.Helper()
	_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range n {
			p.Set(t.Context(), fmt.Sprintf("%sresume_viewed:%d:sms", prefix, i), "1:2:3", time.Hour)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
