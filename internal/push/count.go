package push

import "time"

// Count is how many deliveries share what it names.
type Count struct {
	Action    Action
	Status    Status
	Provider  string // empty while none was named
	ErrorCode string // empty without error
	Count     int64
}

// Hour is how many deliveries that were created in one hour share what it names, and how quick they were.
type Hour struct {
	Hour     time.Time // its beginning, in UTC
	Action   Action
	Provider string // empty while none was named
	Status   Status
	Count    int64
	Latency  []int64 // of the sent: how many fall under each of LatencyBounds, and behind them how many above all
}

// LatencyBounds are the buckets of Hour.Latency: less than so long from the record to the acceptance, and no less than
// the bound before.
func LatencyBounds() []time.Duration {
	return []time.Duration{
		100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
		5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute,
	}
}

// Waiting is what has not come to its end, and what is overdue. Ages are zero where there is nothing.
type Waiting struct {
	Due           int // failed or deferred, and due now
	OldestDue     time.Duration
	Later         int // failed or deferred, due later
	Queued        int
	OldestQueued  time.Duration // since the re-queue
	Sending       int
	OldestSending time.Duration
	Unknown       int
	OldestUnknown time.Duration // since the first doubtful attempt
	Dead          int           // given up in the last 24 hours
	Letters       int           // dead letters still to be written
	SentAMinute   map[Action]float64
}
