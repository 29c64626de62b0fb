package consume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pusher/internal/push"
)

// Handler takes records in. Handle blocks while there is no room and returns quickly otherwise; ctx ends with the
// Kafka generation, and then Handle returns soon. done is called once, from any goroutine, when the handler is through with the
// record: done(nil) when it is taken care of, done(err) otherwise. The end of a generation waits for done, within
// DrainTimeout, so a handler that gives a record back after ctx has ended says so with an error.
//
// An error, of Handle or given to done, decides what becomes of the record: a *push.PoisonError sends it to the
// dead-letter topic; push.ErrTombstone counts it and goes on; after any other it is handed again after a while, with
// others going on, or comes again in a later generation when ctx has ended.
type Handler interface {
	Handle(ctx context.Context, r push.Record, done func(error)) error
}

// Where a partition without a committed offset begins.
const (
	StartFirst = "first" // at the oldest record: nothing is lost
	StartLast  = "last"  // at the end, as it is when the group begins; partitions that appear later begin at the first
)

// Config says what to consume and how.
type Config struct {
	Cluster

	Group           string   // the consumer group
	Topics          []string // the producers' topic and the retry topic; each may appear later
	DeadLetterTopic string   //
	Start           string   // StartFirst (default) or StartLast

	SessionTimeout time.Duration // silence after which Kafka gives a member's partitions away; default 30s
	Heartbeat      time.Duration // default a tenth of SessionTimeout
	DrainTimeout   time.Duration // longest wait for records that are out when a generation ends; default a third of SessionTimeout
	Grace          time.Duration // longest that Run takes to return once its context has ended; default 25s
	CommitEvery    time.Duration // default 500ms
	WatchEvery     time.Duration // how often topics and partitions are looked at; default 3s
	DeafAfter      time.Duration // silence of a broker, while asked for records, after which Ready says so; more than the 2s of an empty fetch; default 15s
	Backoff        time.Duration // first wait after a failed fetch, dead letter or Handle, doubling up to 32 times itself; default 250ms

	MaxBytes int // size of one fetch a partition; a larger record is still read; default 1 MiB
	Ahead    int // records a partition may be ahead of its oldest undone one; default 65536

	OnEvent func(Event) // told what happens, throttled; called from many goroutines; nil: nobody listens
}

// withDefaults fills what is not set.
func (c Config) withDefaults() Config {
	c.Cluster = c.Cluster.withDefaults()
	if c.Start == "" {
		c.Start = StartFirst
	}
	or(&c.SessionTimeout, 30*time.Second)
	or(&c.Heartbeat, c.SessionTimeout/10)
	or(&c.DrainTimeout, c.SessionTimeout/3)
	or(&c.Grace, 25*time.Second)
	or(&c.CommitEvery, 500*time.Millisecond)
	or(&c.WatchEvery, 3*time.Second)
	or(&c.DeafAfter, 15*time.Second)
	or(&c.Backoff, 250*time.Millisecond)
	or(&c.MaxBytes, 1<<20)
	or(&c.Ahead, 1<<16)
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
	return c
}

// or sets what is not positive.
func or[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// validate names the setting that cannot work. The last commit must still find its generation alive: heartbeats stop
// while a generation drains.
func (c Config) validate() error {
	switch {
	case c.Group == "":
		return errors.New("no consumer group is given")
	case len(c.Topics) == 0:
		return errors.New("no topics are given")
	case c.DeadLetterTopic == "":
		return errors.New("no dead-letter topic is given")
	case c.Start != StartFirst && c.Start != StartLast:
		return fmt.Errorf("start %q is neither %s nor %s", c.Start, StartFirst, StartLast)
	case c.DrainTimeout+c.Heartbeat >= c.SessionTimeout:
		return fmt.Errorf("drain timeout %v leaves no time to commit within the session timeout %v", c.DrainTimeout, c.SessionTimeout)
	}
	return c.Cluster.validate()
}
