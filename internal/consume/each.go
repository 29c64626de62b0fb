package consume

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
)

// frontBatch is how many records of all callers may go in one produce request: at a front door many come at once.
const frontBatch = 1000

// frontLinger is how long a record waits for others: somebody waits for its answer.
const frontLinger = time.Millisecond

// NewFrontProducer makes a producer that tries each write once, so that its error says whether a record may be in Kafka;
// see Each. Records of all callers share produce requests. It connects on first use.
func NewFrontProducer(cluster Cluster) (*Producer, error) {
	cluster = cluster.withDefaults()
	if err := cluster.validate(); err != nil {
		return nil, err
	}
	w := newWire(writeWait+cluster.Timeout, new(atomic.Int64))
	p := &Producer{wire: w, transport: cluster.transport(w, 6*time.Second)}
	p.batched = p.writer(cluster.Brokers, frontBatch, batchBytes)
	p.alone = p.writer(cluster.Brokers, 1, singleBytes)
	p.alone.Compression = kafka.Gzip
	p.batched.MaxAttempts, p.alone.MaxAttempts = 1, 1
	p.batched.BatchTimeout, p.alone.BatchTimeout = frontLinger, frontLinger
	return p, nil
}

// Each writes like Publish and answers for each record by itself: nil once all replicas have it; an error that is
// push.ErrUnwritten where it certainly is not in Kafka and will not be, and push.ErrOversized besides where the topic
// never takes it. Any other error leaves that open. Only a producer of NewFrontProducer keeps the two apart: a retry
// hides what the try before it came to.
func (p *Producer) Each(ctx context.Context, records []push.Record) []error {
	errs := make([]error, len(records))
	var small, large []int
	for i, r := range records {
		if size(r) < batchBytes {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	each(ctx, p.batched, records, small, errs)
	for _, i := range small {
		if isTooLarge(errs[i]) { // its batch was: that says nothing of the single record
			large = append(large, i)
		}
	}
	each(ctx, p.alone, records, large, errs)
	for i, err := range errs {
		errs[i] = judged(err)
	}
	return errs
}

// each writes the records at the indexes and sets their errors.
func each(ctx context.Context, w *kafka.Writer, records []push.Record, at []int, errs []error) {
	if len(at) == 0 {
		return
	}
	messages := make([]kafka.Message, len(at))
	for n, i := range at {
		messages[n] = message(records[i])
	}
	err := w.WriteMessages(ctx, messages...)
	of, some := errors.AsType[kafka.WriteErrors](err)
	for n, i := range at {
		switch {
		case some:
			errs[i] = of[n]
		case err != nil && ctx.Err() == nil: // refused as a whole, before any was queued
			errs[i] = fmt.Errorf("%w: %w", push.ErrUnwritten, err)
		default:
			errs[i] = err
		}
	}
}

// judged marks the error of one try that proves the record is not there.
func judged(err error) error {
	switch {
	case err == nil, errors.Is(err, push.ErrUnwritten):
		return err
	case isTooLarge(err):
		return fmt.Errorf("%w: %w: %w", push.ErrUnwritten, push.ErrOversized, err)
	case neverLeft(err), refused(err):
		return fmt.Errorf("%w: %w", push.ErrUnwritten, err)
	}
	return err
}

// neverLeft reports whether no connection could be made to send anything on.
func neverLeft(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" || errors.Is(err, errCut)
}

// refused reports whether the broker said that it did not append the record. What it says of replicas that lag behind
// (NotEnoughReplicasAfterAppend) or of its own time limit leaves that open.
func refused(err error) bool {
	for _, code := range []kafka.Error{
		kafka.UnknownTopicOrPartition, kafka.LeaderNotAvailable, kafka.NotLeaderForPartition, kafka.InvalidTopic,
		kafka.NotEnoughReplicas, kafka.TopicAuthorizationFailed, kafka.ClusterAuthorizationFailed, kafka.BrokerNotAvailable,
		kafka.InvalidRequiredAcks, kafka.InvalidTimestamp, kafka.PolicyViolation, kafka.KafkaStorageError,
		kafka.UnsupportedForMessageFormat, kafka.SASLAuthenticationFailed, kafka.InvalidRecord,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// Reach reports whether the topic can be written now: the leader of its first partition answers. What is known of the
// cluster is kept for a while, so a question about that alone would not tell.
func (p *Producer) Reach(ctx context.Context, topic string) error {
	client := &kafka.Client{Addr: p.batched.Addr, Transport: p.transport}
	res, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{topic: {kafka.LastOffsetOf(0)}},
	})
	if err != nil {
		return fmt.Errorf("asking for the end of topic %s: %w", topic, err)
	}
	for _, partition := range res.Topics[topic] {
		return partition.Error
	}
	return fmt.Errorf("%w: %s", ErrNoTopic, topic)
}
