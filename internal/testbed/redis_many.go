package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/sandbox/local"
)

// Sentinels is a master and its replicas under sentinels, for one test.
type Sentinels struct {
	Name  string   // of the master, as the sentinels call it
	Addrs []string // of the sentinels
	Nodes []*Own   // the first one began as the master
}

// RedisSentinel starts a master, its replicas and sentinels, which agree by majority, and returns once they all know
// each other. The test is skipped where there is no redis-server.
func RedisSentinel(t testing.TB, replicas, sentinels int) *Sentinels {
	t.Helper()
	s := &Sentinels{Name: "main"}
	for range 1 + replicas {
		s.Nodes = append(s.Nodes, OwnRedisWith(t))
	}
	master := s.Nodes[0].Addr
	for _, n := range s.Nodes[1:] {
		replicate(t, n.Addr, master)
	}
	replicas = len(s.Nodes) - 1
	await(t, "replicas are online", func(ctx context.Context) error {
		return ask(master, func(c *redis.Client) error {
			info, err := c.Info(ctx, "replication").Result()
			if n := strings.Count(info, "state=online"); err == nil && n != replicas {
				err = fmt.Errorf("%d replicas", n)
			}
			return err
		})
	})
	for range sentinels {
		node := ownProcess(t, func(ctx context.Context) (*local.Server, error) {
			return local.Sentinel(ctx, s.Name, master, sentinels/2+1)
		})
		s.Addrs = append(s.Addrs, node.Addr)
	}
	for _, addr := range s.Addrs {
		await(t, "a sentinel knows all", func(ctx context.Context) error {
			client := redis.NewSentinelClient(&redis.Options{Addr: addr})
			defer client.Close()
			known, err := client.Master(ctx, s.Name).Result()
			replied := known["num-slaves"] == strconv.Itoa(replicas) && known["num-other-sentinels"] == strconv.Itoa(sentinels-1)
			if err == nil && !replied {
				err = fmt.Errorf("it knows %s replicas and %s other sentinels", known["num-slaves"], known["num-other-sentinels"])
			}
			return err
		})
	}
	return s
}

// Master is the node that the first sentinel holds for the master.
func (s *Sentinels) Master(t testing.TB) *Own {
	t.Helper()
	client := redis.NewSentinelClient(&redis.Options{Addr: s.Addrs[0]})
	defer client.Close()
	where, err := client.GetMasterAddrByName(t.Context(), s.Name).Result()
	if err != nil {
		t.Fatalf("asking a sentinel: %v", err)
	}
	for _, n := range s.Nodes {
		if n.Addr == net.JoinHostPort(where[0], where[1]) {
			return n
		}
	}
	t.Fatalf("the master is %v, nobody of ours", where)
	return nil
}

// RedisCluster starts a cluster of masters, and returns once each node finds it whole. A node that is away takes only its
// own slots with it. The test is skipped where there is no redis-server.
func RedisCluster(t testing.TB, masters int) []*Own {
	t.Helper()
	var nodes []*Own
	var buses []int // the ports by which the nodes talk; the usual ones are what the system hands out by itself
	for range masters {
		bus, err := local.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, OwnRedisWith(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus),
			"--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no"))
		buses = append(buses, bus)
	}
	const slots = 16384
	host, port, _ := net.SplitHostPort(nodes[0].Addr)
	for i, n := range nodes {
		err := ask(n.Addr, func(c *redis.Client) error {
			return errors.Join(c.Do(t.Context(), "cluster", "meet", host, port, buses[0]).Err(),
				c.ClusterAddSlotsRange(t.Context(), slots*i/masters, slots*(i+1)/masters-1).Err())
		})
		if err != nil {
			t.Fatalf("joining the cluster: %v", err)
		}
	}
	for _, n := range nodes {
		await(t, "the cluster is whole", func(ctx context.Context) error {
			return ask(n.Addr, func(c *redis.Client) error {
				info, err := c.ClusterInfo(ctx).Result()
				whole := strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d\r", slots))
				if err == nil && !whole {
					err = errors.New(info)
				}
				return err
			})
		})
	}
	return nodes
}

// OwnRedisWith starts a redis-server with settings ("--maxmemory", "4mb") for this test alone. The test is skipped where
// there is none.
func OwnRedisWith(t testing.TB, settings ...string) *Own {
	t.Helper()
	return ownProcess(t, func(ctx context.Context) (*local.Server, error) { return local.Redis(ctx, settings...) })
}

// Replicate makes the node a replica of another, or with "" a master.
func (o *Own) Replicate(of string) {
	o.t.Helper()
	replicate(o.t, o.Addr, of)
}

func replicate(t testing.TB, addr, of string) {
	t.Helper()
	host, port := "NO", "ONE"
	if of != "" {
		host, port, _ = net.SplitHostPort(of)
	}
	err := ask(addr, func(c *redis.Client) error { return c.ReplicaOf(t.Context(), host, port).Err() })
	if err != nil {
		t.Fatalf("making %s a replica of %q: %v", addr, of, err)
	}
}

// ownProcess is a server process that ends with the test.
func ownProcess(t testing.TB, start func(context.Context) (*local.Server, error)) *Own {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	server, err := process(start(ctx))
	if errors.Is(err, local.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	server.Name, server.Kind = "redis", Local
	t.Cleanup(func() { _ = server.Close() })
	return &Own{Server: server, t: t}
}

// ask asks one Redis once.
func ask(addr string, question func(*redis.Client) error) error {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	return question(client)
}

// await asks again until ok returns nil.
func await(t testing.TB, what string, ok func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := ok(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s: %v", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
