package push

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// Origin is where a record stood in Kafka.
type Origin struct {
	Topic     string
	Partition int
	Offset    int64
	Time      time.Time // the record's own timestamp: decides between duplicate and news, never the time of reading
}

// Identity names a delivery without its round: the unit of dedup.
type Identity struct {
	BizType     string
	RuleVersion string // "v1" when the rule names none
	DedupID     string // what the rule takes as the business fact; see Rule
	Action      Action
}

// Retry says that a record from the retry topic asks for one attempt of one round. It is a poke: it counts only
// while the row is queued for that very attempt.
type Retry struct {
	Round   int
	Attempt int
}

// Delivery is one action of one event on its way through the pipeline.
type Delivery struct {
	Identity

	BizID  string
	Event  *Event
	Retry  *Retry // nil for a main message
	Origin Origin
	Window time.Duration // how long after its settle the same fact is a duplicate
	Skip   string        // not empty: ends as skipped, with this reason
}

// Reference is the id handed to the provider for every attempt of the delivery's round: the first 32 hex digits of
// the SHA-256 of the dedup key, of "<key>#<round>" from round 2 on (docs/contract.md, section 3).
func (id Identity) Reference(round int) string {
	text := id.Key()
	if round > 1 {
		text += "#" + strconv.Itoa(round)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:32]
}
