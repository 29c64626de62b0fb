package consume

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
)

const (
	batchBytes  = 1 << 20  // what a broker takes as one batch unless told otherwise
	singleBytes = 64 << 20 // for a record alone: the broker decides whether it is too large
	linger      = 5 * time.Millisecond
	writeWait   = 10 * time.Second // of one produce request
	overhead    = 512              // of a record in a batch, beside its key, value and headers
)

// Producer writes records with acknowledgements from all in-sync replicas, to the partition that the key hashes to.
// Safe for use by many goroutines.
type Producer struct {
	batched   *kafka.Writer // small records, many to a request
	alone     *kafka.Writer // one record to a request
	transport *kafka.Transport
	wire      *wire
}

// NewProducer connects on first use.
func NewProducer(cluster Cluster) (*Producer, error) {
	cluster = cluster.withDefaults()
	if err := cluster.validate(); err != nil {
		return nil, err
	}
	w := newWire(writeWait+cluster.Timeout, new(atomic.Int64))
	p := &Producer{wire: w, transport: cluster.transport(w, 6*time.Second)}
	p.batched = p.writer(cluster.Brokers, 100, batchBytes)
	p.alone = p.writer(cluster.Brokers, 1, singleBytes)
	p.alone.Compression = kafka.Gzip // what came in compressed goes out whole: brokers count the bytes on the wire
	return p, nil
}

func (p *Producer) writer(brokers []string, records int, bytes int64) *kafka.Writer {
	return &kafka.Writer{
		Addr:            kafka.TCP(brokers...),
		Balancer:        &kafka.Hash{},
		RequiredAcks:    kafka.RequireAll,
		MaxAttempts:     3,
		BatchSize:       records,
		BatchBytes:      bytes,
		BatchTimeout:    linger,
		WriteTimeout:    writeWait,
		ReadTimeout:     writeWait,
		WriteBackoffMin: 50 * time.Millisecond,
		WriteBackoffMax: time.Second,
		Transport:       p.transport,
	}
}

// Publish writes each record to its Topic, with its key, value and headers; the partition, offset and time are
// Kafka's. It returns nil once all are acknowledged. After an error some may be written, or still be on their way.
func (p *Producer) Publish(ctx context.Context, records []push.Record) error {
	var small, large []kafka.Message
	for _, r := range records {
		m := message(r)
		if size(r) < batchBytes {
			small = append(small, m)
		} else {
			large = append(large, m)
		}
	}
	refused, err := p.writeBatched(ctx, small)
	large = append(large, refused...)
	if len(large) > 0 {
		err = errors.Join(err, p.alone.WriteMessages(ctx, large...))
	}
	if err != nil {
		return fmt.Errorf("publishing %d records: %w", len(records), short(err))
	}
	return nil
}

// writeBatched writes small records together. A batch that is too large for its topic says nothing of the single
// record: those come back to be written alone.
func (p *Producer) writeBatched(ctx context.Context, messages []kafka.Message) (refused []kafka.Message, err error) {
	if len(messages) == 0 {
		return nil, nil
	}
	err = p.batched.WriteMessages(ctx, messages...)
	var each kafka.WriteErrors
	if !errors.As(err, &each) {
		return nil, err
	}
	var rest []error
	for i, e := range each {
		switch {
		case e == nil:
		case isTooLarge(e):
			refused = append(refused, messages[i])
		default:
			rest = append(rest, e)
		}
	}
	return refused, errors.Join(rest...)
}

// short keeps the first cause of a batch's failure: they are the same, or one is enough to act on. kafka.WriteErrors
// does not unwrap by itself.
func short(err error) error {
	if each, ok := errors.AsType[kafka.WriteErrors](err); ok {
		for _, e := range each {
			if e != nil {
				return e
			}
		}
	}
	return err
}

// Close waits for what is being written as long as ctx allows, then cuts the connections.
func (p *Producer) Close(ctx context.Context) error {
	defer context.AfterFunc(ctx, p.wire.cut)()
	err := errors.Join(p.batched.Close(), p.alone.Close())
	p.wire.cut()
	p.transport.CloseIdleConnections()
	return err
}

func message(r push.Record) kafka.Message {
	m := kafka.Message{Topic: r.Topic, Key: r.Key, Value: r.Value, Headers: make([]kafka.Header, len(r.Headers))}
	for i, h := range r.Headers {
		m.Headers[i] = kafka.Header{Key: h.Key, Value: h.Value}
	}
	return m
}

// size is about what a record takes in a batch.
func size(r push.Record) int {
	n := len(r.Key) + len(r.Value) + overhead
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// isTooLarge reports whether a record or batch was refused for its size, here or by the broker.
func isTooLarge(err error) bool {
	var local kafka.MessageTooLargeError
	return errors.As(err, &local) || errors.Is(err, kafka.MessageSizeTooLarge) || errors.Is(err, kafka.RecordListTooLarge)
}
