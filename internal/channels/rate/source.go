package rate

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

//go:embed beat.lua
var beatLua string

// uses is how long a process counts that has not said again that it uses the rate.
const uses = 10 * time.Second

// grant is an answer to the wish for slots.
type grant struct {
	ok   bool
	end  time.Duration // ok: the end of the last slot, from now on
	wait time.Duration // not ok: when so many slots may be had
}

// source gives the slots of the time line, and counts those who take them.
type source interface {
	take(ctx context.Context, n int) (grant, error)
	beat(ctx context.Context) (instances int, err error)
}

// shared is the time line in Redis: one key, and one for the processes; both in one slot of a cluster.
type shared struct {
	limiter  *redis_rate.Limiter
	limit    redis_rate.Limit
	client   redis.UniversalClient
	script   *redis.Script
	line     string // redis_rate and prefixed put "push:rate:" before it
	set      string
	instance string
}

func newShared(cfg Config, interval time.Duration) *shared {
	return &shared{
		limiter: redis_rate.NewLimiter(prefixed{cfg.Client}),
		limit:   redis_rate.Limit{Rate: 1, Period: interval, Burst: max(2, int(lookahead/interval))},
		client:  cfg.Client, script: redis.NewScript(beatLua),
		line: "{" + cfg.Name + "}", set: "push:rate:{" + cfg.Name + "}:users", instance: cfg.Instance,
	}
}

// take takes n slots, all or none. The limiter's time until it is as if never used is the end of the last slot taken.
func (s *shared) take(ctx context.Context, n int) (grant, error) {
	answer, err := s.limiter.AllowN(ctx, s.line, s.limit, n)
	if err != nil {
		return grant{}, fmt.Errorf("taking from the rate %s: %w", s.line, err)
	}
	return grant{ok: answer.Allowed == n, end: answer.ResetAfter, wait: answer.RetryAfter}, nil
}

func (s *shared) beat(ctx context.Context) (int, error) {
	instances, err := s.script.Run(ctx, s.client, []string{s.set}, s.instance, uses.Milliseconds()).Int()
	if err != nil {
		return 0, fmt.Errorf("counting who shares the rate %s: %w", s.line, err)
	}
	return instances, nil
}

// prefixed puts the house's prefix before the one of redis_rate.
type prefixed struct{ redis.UniversalClient }

// Eval runs a script on the key with the house's prefix.
func (p prefixed) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.UniversalClient.Eval(ctx, script, []string{"push:" + keys[0]}, args...)
}

// EvalSha runs a script on the key with the house's prefix.
func (p prefixed) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return p.UniversalClient.EvalSha(ctx, sha, []string{"push:" + keys[0]}, args...)
}
