package deliver

import (
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/push"
)

// Config is what a Deliverer needs to know; every field is required unless it says otherwise.
type Config struct {
	Pushes     map[string]Push // by biz_type
	RetryTopic string          // records of this topic are retry messages

	InFlight     int           // requests out at providers at once; see share
	Waiting      int           // deliveries admitted at once, those at providers included
	WaitingBytes int64         // bytes of their records
	Lease        time.Duration // of key and row
	Window       time.Duration // dedup.window, for a retry whose push is no longer configured
	Call         time.Duration // the longest a batch may take at PostgreSQL
	KeyCall      time.Duration // the longest a batch may take at Redis; 0: Call
	Spare        bool          // while Redis does not answer the intent alone arbitrates; false: claims wait for it

	Backoff       push.Backoff
	InlineRetries int // tries inside the lease on proof that nothing left; 0 for none
	Channels      map[push.Action]Channel

	PhoneRegion string // default region of phones, "CN"
	HashKey     []byte // keys recipient_hash; empty: none is kept
	Worker      string // host and process, for operators

	Meter  Meter
	Tracer Tracer           // nil: nobody looks
	Log    zerolog.Logger   // keeps back what every delivery says while a dependency is away
	Now    func() time.Time // time.Now outside tests: must carry the monotonic clock
}

// Channel is what the pipeline knows of one channel.
type Channel struct {
	Senders      []Sender      // in order of preference; one for most channels
	Timeout      time.Duration // of one request
	ResendWithin time.Duration // Windowed channels: repeats of an ambiguous attempt, from its first intent
}

// Push is one configured push.
type Push struct {
	Rule    push.Rule
	Actions []push.Action // its channels, in the order in which an event without actions gets them
}
