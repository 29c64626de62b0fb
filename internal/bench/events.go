package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"pusher/internal/push"
)

// produce makes a topic of n events, evenly over its partitions.
func (w *world) produce(ctx context.Context, topic string, a push.Action, n int) error {
	if err := w.makeTopic(ctx, topic); err != nil {
		return err
	}
	var group errgroup.Group
	for partition := range partitions {
		group.Go(func() error { return w.fill(ctx, topic, partition, a, n) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("writing events to %s: %w", topic, err)
	}
	return nil
}

// fill writes one partition's share of n events, in batches.
func (w *world) fill(ctx context.Context, topic string, partition int, a push.Action, n int) error {
	const batch = 2000
	for from := partition; from < n; from += batch * partitions {
		for {
			err := w.write(ctx, topic, partition, a, from, min(n, from+batch*partitions))
			var passing kafka.Error // a new topic has no leader yet
			if errors.As(err, &passing) && passing.Temporary() && wait(ctx, sampleEvery) {
				continue
			}
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// write writes one batch: every so many-th event of a range.
func (w *world) write(ctx context.Context, topic string, partition int, a push.Action, from, to int) error {
	var records []kafka.Record
	for i := from; i < to; i += partitions {
		records = append(records, kafka.Record{
			Time: time.Now(), Key: kafka.NewBytes([]byte(strconv.Itoa(i))), Value: kafka.NewBytes(event(a, i)),
		})
	}
	answer, err := w.client.Produce(ctx, &kafka.ProduceRequest{
		Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(records...),
	})
	if err != nil {
		return err
	}
	return answer.Error
}
