package gateway

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/push"
)

// Config says who is let in, and how their requests are told apart.
type Config struct {
	Topic     string               // where events go
	Rules     map[string]push.Rule // of the configured pushes, by biz_type
	Producers []Producer

	TokenKey  []byte        // signs one-time tokens; the same at every gateway
	TokenLife time.Duration // how long a token may be used

	KeyWindow   time.Duration // how long an Idempotency-Key and its answer are remembered
	PrintBy     *push.By      // what makes two events without token and key the same; nil: the whole event
	PrintWindow time.Duration // and for how long
	Lease       time.Duration // how long the requests of a gateway that died stay in progress
	PassDown    bool          // while Redis is away requests are let through; else they are refused

	Rate     float64       // events a second of one producer here; 0: no limit
	MaxBody  int64         // bytes of a request
	MaxBatch int           // events of a request
	InHand   int64         // bytes of all requests at once; not less than MaxBody
	Timeout  time.Duration // of writing to Kafka

	Log   zerolog.Logger
	Meter Meter
	Now   func() time.Time
}

// Producer is one credential of a producer, by its hash: see NewCredential.
type Producer struct {
	Name string
	Hash [sha256.Size]byte
}

// Writer brings records to Kafka. It answers for each by itself: nil once all replicas have it; push.ErrUnwritten where
// it certainly is not there and will not be, push.ErrOversized besides where it never can; any other error leaves it open.
type Writer interface {
	Each(ctx context.Context, records []push.Record) []error
}

// Meter counts what the door does.
type Meter interface {
	Request(route string, status int, took time.Duration)
	Events(producer, outcome string, n int)
	Guarded(kind, outcome string)
}

// The routes, for the log and the metrics.
const (
	routeEvents = "events"
	routeTokens = "tokens"
	routePages  = "pages"
)

// What becomes of events, for the metrics.
const (
	arrivedAccepted  = "accepted"
	arrivedRepeated  = "repeated"
	arrivedInvalid   = "invalid"
	arrivedBusy      = "busy"
	arrivedLimited   = "limited"
	arrivedUnwritten = "unwritten"
	arrivedUnknown   = "unknown"
)

// The kinds of keys, for the metrics and in Redis.
const (
	kindKey   = "key"
	kindToken = "token"
	kindPrint = "fingerprint"
)
