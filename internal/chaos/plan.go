package chaos

import (
	"math/rand/v2"
	"slices"
	"time"
)

// kind is one kind of fault, in the words of the table.
type kind string

// The kinds of faults.
const (
	processKilled  kind = "process killed (kill -9)"
	processTrapped kind = "process killed between two of its steps"
	processFrozen  kind = "process frozen past its lease (SIGSTOP)"
	processRolled  kind = "process restarted (SIGTERM)"
	lineCut        kind = "network cut"
	lineHung       kind = "network black hole"
	lineSlow       kind = "network slow"
	lineReset      kind = "network resets"
	redisFlushed   kind = "redis FLUSHALL"
	redisEmpty     kind = "redis restarted empty"
	redisBack      kind = "redis restarted with an earlier state"
	postgresStop   kind = "postgres restarted"
	postgresCrash  kind = "postgres crashed"
	kafkaStop      kind = "kafka restarted"
	kafkaCrash     kind = "kafka killed"
	providersStorm kind = "providers' storm"
)

// fault is one planned fault.
type fault struct {
	at   time.Duration // since the beginning
	last time.Duration // until it is healed
	rest time.Duration // after that, until what it befell may be struck again
	kind kind
	on   []string // what it befalls; no two faults at the same time befall the same
	draw uint64   // chooses what the kind leaves open, such as which toxic or how slow
}

// spec is how often a kind comes, how long it lasts and what it may befall.
type spec struct {
	kind     kind
	weight   int
	from, to time.Duration
	rest     time.Duration // for what it befell, before the next fault
	on       [][]string    // one of these
}

// cast is who plays: the names of processes, and of the services that each reaches over lines of its own.
type cast struct {
	pushers, compensators, services []string
}

// lineName names the line from a process to a service.
func lineName(process, service string) string { return process + " to " + service }

func (c cast) processes() []string { return slices.Concat(c.pushers, c.compensators) }

// singly makes each name a choice of its own.
func singly(names []string) [][]string {
	choices := make([][]string, 0, len(names))
	for _, name := range names {
		choices = append(choices, []string{name})
	}
	return choices
}

// lines are the choices of a network fault: one process cut off from one service, or all processes from one.
func (c cast) lines() [][]string {
	var choices [][]string
	for _, service := range c.services {
		var all []string
		for _, process := range c.processes() {
			line := lineName(process, service)
			choices = append(choices, []string{line})
			all = append(all, line)
		}
		choices = append(choices, all)
	}
	return choices
}

// specs lists the kinds. lease is that of the claims: what is frozen stays so for longer.
func (c cast) specs(lease time.Duration) []spec {
	const s, ms = time.Second, time.Millisecond
	processes, lines := append(singly(c.pushers), singly(c.processes())...), c.lines()
	return []spec{
		{processKilled, 6, 0, 3 * s, 2 * s, processes},
		{processTrapped, 8, 6 * s, 10 * s, 2 * s, singly(c.compensators)}, // a pass every two seconds
		{processTrapped, 2, 2 * s, 4 * s, 2 * s, singly(c.pushers)},
		{processFrozen, 4, lease + s, lease + 8*s, 2 * s, processes},
		{processRolled, 3, 0, s, 8 * s, processes},
		{lineCut, 4, 200 * ms, 8 * s, s, lines},
		{lineHung, 4, s, 10 * s, s, lines},
		{lineSlow, 3, 2 * s, 10 * s, s, lines},
		{lineReset, 3, 200 * ms, 3 * s, s, lines},
		{redisFlushed, 2, 0, 0, s, singly([]string{onRedis})},
		{redisEmpty, 2, 0, 2 * s, 3 * s, singly([]string{onRedis})},
		{redisBack, 2, s, 4 * s, 3 * s, singly([]string{onRedis})},
		{postgresStop, 1, 0, 2 * s, 5 * s, singly([]string{onPostgres})},
		{postgresCrash, 2, 0, 2 * s, 5 * s, singly([]string{onPostgres})},
		{kafkaStop, 1, 0, 2 * s, 12 * s, singly([]string{onKafka})},
		{kafkaCrash, 2, 0, 2 * s, 12 * s, singly([]string{onKafka})},
		{providersStorm, 3, 2 * s, 6 * s, 2 * s, singly([]string{onProviders})},
	}
}

// plan draws the faults of a run: about one every so often, each healed before length is over. The same seed draws the
// same plan.
func plan(seed uint64, length, every, lease time.Duration, c cast) []fault {
	rnd := rand.New(rand.NewPCG(seed, 1))
	specs, busy := c.specs(lease), map[string]time.Duration{}
	var faults []fault
	for at := every; at < length; at += max(every/5, time.Duration(rnd.ExpFloat64()*float64(every))) {
		const tries = 20
		for range tries {
			s := pick(rnd, specs)
			f := fault{at: at, last: s.from + time.Duration(rnd.Float64()*float64(s.to-s.from)), rest: s.rest,
				kind: s.kind, on: s.on[rnd.IntN(len(s.on))], draw: rnd.Uint64()}
			free := !slices.ContainsFunc(f.on, func(name string) bool { return busy[name] > at })
			if free && at+f.last <= length {
				for _, name := range f.on {
					busy[name] = at + f.last + s.rest
				}
				faults = append(faults, f)
				break
			}
		}
	}
	return faults
}

// pick draws a spec by weight.
func pick(rnd *rand.Rand, specs []spec) spec {
	sum := 0
	for _, s := range specs {
		sum += s.weight
	}
	n := rnd.IntN(sum)
	for _, s := range specs {
		if n -= s.weight; n < 0 {
			return s
		}
	}
	return specs[len(specs)-1]
}
