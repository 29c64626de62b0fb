package dedup

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed ration.lua
var rationLua string

// RationConfig says what all processes together may take.
type RationConfig struct {
	Name   string        // what is taken, such as "wechat-token"; part of the key
	Most   int           // in any period
	Period time.Duration // at least a millisecond
	Apart  time.Duration // between one and the next
}

// Ration deals out what is few and shared by all processes, in one Redis key an account. It is safe for concurrent
// use. A Redis that forgets lets more be taken: what hangs on it must bear that.
type Ration struct {
	client redis.UniversalClient
	cfg    RationConfig
	script *redis.Script
}

// NewRation keeps a ration in the Redis of client.
func NewRation(client redis.UniversalClient, cfg RationConfig) *Ration {
	return &Ration{client: client, cfg: cfg, script: redis.NewScript(rationLua)}
}

// Take takes one for the account, or returns how long none is to be had. When its answer is lost, one may be taken all
// the same.
func (r *Ration) Take(ctx context.Context, account string) (wait time.Duration, err error) {
	key := "push:ration:" + r.cfg.Name + ":" + account
	reply, err := r.script.Run(ctx, r.client, []string{key}, r.cfg.Most, r.cfg.Period.Milliseconds(), r.cfg.Apart.Milliseconds()).Int64Slice()
	if err != nil || len(reply) == 0 {
		return 0, fmt.Errorf("taking from the ration %s: %w", r.cfg.Name, err)
	}
	return time.Duration(reply[0]) * time.Millisecond, nil
}
