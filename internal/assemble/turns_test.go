package assemble

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Tencent allows an account 20 questions a second, from however many passes.
func TestPassesShareTheQuestionsThatTencentAllows(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var asked atomic.Int32
	var all sync.WaitGroup
	for range 3 {
		pass := tencentQuestions(client, "id")
		defer pass.Close()
		for range 4 {
			all.Go(func() {
				for pass.Wait(ctx) == nil {
					asked.Add(1)
				}
			})
		}
	}
	all.Wait()
	if n := asked.Load(); n > 41 || n < 5 {
		t.Errorf("%d questions in two seconds, want about 40 and no more", n)
	}
}

// Without Redis each pass keeps to a share: nobody waits for a word that does not come.
func TestQuestionsGoOnWithoutRedis(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialTimeout: time.Second})
	t.Cleanup(func() { _ = client.Close() })
	server.Close()
	pass := tencentQuestions(client, "id")
	defer pass.Close()
	for range 3 {
		if err := pass.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if pass.State().Shared {
		t.Error("Redis counts as there")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if pass.Wait(ctx) == nil {
		t.Error("a turn came for a question without time")
	}
}
