package compensate

import (
	"context"
	"errors"
	"fmt"

	"pusher/internal/push"
)

// topicPatience is how many records in a row a topic may refuse before it is the topic, not the records.
const topicPatience = 3

// write builds a record of each item and publishes them all. done says of which items the record is written; the
// error is about the others.
func write[T any](
	ctx context.Context, to Publisher, items []T, build func(T) (push.Record, error),
) (done []bool, err error) {
	done = make([]bool, len(items))
	records := make([]push.Record, 0, len(items))
	whose := make([]int, 0, len(items)) // the item of each record
	var failed []error
	for i, item := range items {
		record, err := build(item)
		if err != nil {
			failed = append(failed, fmt.Errorf("building a record: %w", err))
			continue
		}
		records, whose = append(records, record), append(whose, i)
	}
	written, err := publish(ctx, to, records)
	for n, i := range whose {
		done[i] = written[n]
	}
	return done, errors.Join(append(failed, err)...)
}

// publish publishes the records in one batch. When the batch is refused it tries them one by one, so that a record
// that the broker will not have does not hold back the others; it stops once the topic itself seems to be away.
func publish(ctx context.Context, to Publisher, records []push.Record) (written []bool, err error) {
	written = make([]bool, len(records))
	if len(records) == 0 {
		return written, nil
	}
	if err := to.Publish(ctx, records); err != nil {
		if len(records) == 1 {
			return written, err
		}
		return written, oneByOne(ctx, to, records, written)
	}
	for i := range written {
		written[i] = true
	}
	return written, nil
}

func oneByOne(ctx context.Context, to Publisher, records []push.Record, written []bool) error {
	var failed []error
	refused := 0
	for i := range records {
		err := to.Publish(ctx, records[i:i+1])
		if err == nil {
			written[i], refused = true, 0
			continue
		}
		failed = append(failed, err)
		if refused++; refused == topicPatience || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}
