package consume

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"pusher/internal/push"
)

// cutTo is how much of a value is kept when its dead letter is too large: enough to see what it was.
const cutTo = 64 << 10

// publisher is what dead letters are written with.
type publisher interface {
	Publish(ctx context.Context, records []push.Record) error
}

// writeLetter writes r to the dead-letter topic: byte for byte with its own key and headers, and where it stood and
// why (docs/contract.md, section 2). Where that is too large, with its value cut; where its key and headers alone are
// too large, without them too, since a record that can be put nowhere would hold its partition for good.
func writeLetter(ctx context.Context, to publisher, topic string, r push.Record, reason string) error {
	letter := push.Record{
		Origin:  push.Origin{Topic: topic},
		Key:     r.Key,
		Value:   r.Value,
		Headers: slices.Concat(r.Headers, whereAndWhy(r, reason)),
	}
	err := to.Publish(ctx, []push.Record{letter})
	if err == nil || !isTooLarge(err) {
		return err
	}
	letter.Headers = append(letter.Headers, cutHeaders(r.Value)...)
	for _, keep := range []int{cutTo, 0} {
		letter.Value = r.Value[:min(keep, len(r.Value))]
		if err = to.Publish(ctx, []push.Record{letter}); err == nil || !isTooLarge(err) {
			return err
		}
	}
	letter.Key = nil
	letter.Headers = slices.Concat(whereAndWhy(r, reason), cutHeaders(r.Value))
	return to.Publish(ctx, []push.Record{letter})
}

func whereAndWhy(r push.Record, reason string) []push.Header {
	return append([]push.Header{{Key: push.HeaderReason, Value: []byte(reason)}}, r.Origin.Headers()...)
}

// cutHeaders say how long the whole value was, and what it was.
func cutHeaders(value []byte) []push.Header {
	sum := sha256.Sum256(value)
	return []push.Header{
		{Key: push.HeaderTruncated, Value: []byte(strconv.Itoa(len(value)))},
		{Key: push.HeaderSHA256, Value: []byte(hex.EncodeToString(sum[:]))},
	}
}
