package compensate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"pusher/internal/push"
)

// cutTo is how much of a value stays when its dead letter is refused whole: enough to see what it was.
const cutTo = 64 << 10

// cutting publishes dead letters: one that is refused alone and may be too large for its topic goes with its value
// cut, its length and its SHA-256 in the headers (docs/contract.md, section 2).
type cutting struct{ Publisher }

// Publish is that of a Publisher.
func (c cutting) Publish(ctx context.Context, records []push.Record) error {
	err := c.Publisher.Publish(ctx, records)
	if err == nil || len(records) != 1 || len(records[0].Value) <= cutTo {
		return err
	}
	if c.Publisher.Publish(ctx, []push.Record{cut(records[0])}) != nil {
		return err // not its size, then
	}
	return nil
}

// cut is the record with the beginning of its value, and what the whole was.
func cut(r push.Record) push.Record {
	sum := sha256.Sum256(r.Value)
	r.Headers = append(slices.Clone(r.Headers),
		push.Header{Key: push.HeaderTruncated, Value: []byte(strconv.Itoa(len(r.Value)))},
		push.Header{Key: push.HeaderSHA256, Value: []byte(hex.EncodeToString(sum[:]))})
	r.Value = r.Value[:cutTo]
	return r
}
