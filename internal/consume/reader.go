package consume

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
)

const (
	pollWait  = 2 * time.Second // how long a broker may keep an empty fetch open; its answer is its sign of life
	queueSize = 4               // records kafka-go reads ahead of the handler
)

// fetcher reads one partition from one offset on.
type fetcher interface {
	FetchMessage(ctx context.Context) (kafka.Message, error)
	Close() error
}

// reader is kafka-go's Reader of one partition, on connections of its own.
type reader struct {
	*kafka.Reader

	wire *wire
}

// opener starts reading a partition at offset, kafka.FirstOffset included. heard is when a broker last said anything
// (Unix nanoseconds), failed is told what the fetcher mends by itself.
type opener func(topic string, partition int, offset int64, heard *atomic.Int64, failed func(error)) fetcher

// openReader is the opener on Kafka itself.
func (c *Consumer) openReader(topic string, partition int, offset int64, heard *atomic.Int64, failed func(error)) fetcher {
	w := newWire(c.cfg.Timeout+pollWait, heard)
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers:        c.cfg.Brokers,
		Dialer:         c.cfg.dialer(w),
		Topic:          topic,
		Partition:      partition,
		QueueCapacity:  queueSize,
		MinBytes:       1,
		MaxBytes:       c.cfg.MaxBytes,
		MaxWait:        pollWait,
		ReadBackoffMin: 50 * time.Millisecond,
		ReadBackoffMax: time.Second,
		MaxAttempts:    1,
		ErrorLogger: kafka.LoggerFunc(func(format string, args ...any) {
			if w.life.Err() == nil {
				failed(fmt.Errorf(format, args...))
			}
		}),
		OffsetOutOfRangeError: true,
	})
	_ = r.SetOffset(offset) // fails on a closed reader only
	return reader{Reader: r, wire: w}
}

// Close ends reading at once: kafka-go's own Close waits for the network.
func (r reader) Close() error {
	r.wire.cut()
	return r.Reader.Close()
}
