package dedup

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// call is one script on one key.
type call struct {
	doing string // a gerund for errors: "claiming"
	script
	key  string
	args []any
}

// reply is what one call of a pipeline came to: the script's array, or its own failure.
type reply struct {
	items []any
	err   error
}

// run sends the calls as one pipeline and returns a reply for each. NOSCRIPT comes per command (a restarted, flushed or
// failed-over Redis knows no scripts): only those calls go again, with their source, which every node of a cluster takes.
func run(ctx context.Context, client redis.UniversalClient, calls []call) []reply {
	cmds := pipeline(ctx, client, calls, "evalsha", func(c *call) any { return c.sha })
	var again []call
	var at []int
	for i, cmd := range cmds {
		if err := cmd.Err(); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			again, at = append(again, calls[i]), append(at, i)
		}
	}
	for i, cmd := range pipeline(ctx, client, again, "eval", func(c *call) any { return c.source }) {
		cmds[at[i]] = cmd
	}

	replies := make([]reply, len(calls))
	for i, cmd := range cmds {
		items, err := cmd.Slice()
		replies[i] = reply{items: items, err: calls[i].wrap(err)}
	}
	return replies
}

// pipeline executes the calls in one round trip (in a cluster one a node). Each command carries its own error; what
// Exec returns is only the first of them. A batch makes one array for all arguments: the client's own Eval makes two
// slices for each call.
func pipeline(
	ctx context.Context, client redis.UniversalClient, calls []call, verb string, script func(*call) any,
) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	if len(calls) == 0 {
		return cmds
	}
	const own = 4 // verb, script, number of keys, key
	size := 0
	for i := range calls {
		size += own + len(calls[i].args)
	}
	args := make([]any, 0, size)
	queued := make([]redis.Cmder, len(calls))
	var name any = verb
	for i := range calls {
		c, from := &calls[i], len(args)
		args = append(append(args, name, script(c), 1, c.key), c.args...)
		cmds[i] = redis.NewCmd(ctx, args[from:len(args):len(args)]...)
		queued[i] = cmds[i]
	}
	pipe := client.Pipeline()
	_ = pipe.BatchProcess(ctx, queued...) // queues them, no more
	_, _ = pipe.Exec(ctx)
	return cmds
}

// wrap names the call in its error. The dedup id is left out: it may be made of a phone or an openid.
func (c call) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", c.doing, shown(c.key), err)
}

// shown is the key as errors show it: push:dedup:<biz_type>:…:<action>.
func shown(key string) string {
	parts := strings.Split(key, ":")
	if len(parts) != 5 {
		return "key"
	}
	parts[3] = "…"
	return strings.Join(parts, ":")
}

// number is the i-th item of a script's array, which holds an integer there.
func (r reply) number(i int) int64 {
	if i >= len(r.items) {
		return 0
	}
	n, _ := r.items[i].(int64)
	return n
}

// text is the i-th item of a script's array, which holds a string there.
func (r reply) text(i int) string {
	if i >= len(r.items) {
		return ""
	}
	s, _ := r.items[i].(string)
	return s
}
