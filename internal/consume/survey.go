package consume

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
)

// surveyWait is how long a survey waits for a record that offsets promise: transaction markers and compaction leave
// offsets without any.
const surveyWait = 5 * time.Second

// coordinatorTries is how often a group's coordinator is looked for; a first try may find one that is not it yet.
const coordinatorTries = 6

// Survey looks at topics and at a group's offsets without joining the group, and changes nothing.
type Survey struct {
	cluster Cluster
	group   string
	client  *kafka.Client
	wire    *wire
}

// NewSurvey connects on first use. Close it in the end.
func NewSurvey(cluster Cluster, group string) (*Survey, error) {
	cluster = cluster.withDefaults()
	if err := cluster.validate(); err != nil {
		return nil, err
	}
	w := newWire(cluster.Timeout+surveyWait, new(atomic.Int64))
	return &Survey{
		cluster: cluster, group: group, wire: w,
		client: &kafka.Client{
			Addr: kafka.TCP(cluster.Brokers...), Transport: cluster.transport(w, time.Minute), Timeout: cluster.Timeout,
		},
	}, nil
}

// Close cuts the connections.
func (s *Survey) Close() {
	s.wire.cut()
	if t, ok := s.client.Transport.(*kafka.Transport); ok {
		t.CloseIdleConnections()
	}
}

// Parts says of every partition of the topic which offsets its records of [from, to) have, by their own timestamps.
func (s *Survey) Parts(ctx context.Context, topic string, from, to time.Time) ([]push.Part, error) {
	infos, err := Inspect(ctx, s.cluster, topic)
	if err == nil {
		err = infos[0].Err
	}
	if err != nil {
		return nil, fmt.Errorf("looking at topic %s: %w", topic, err)
	}
	ids := make([]int, infos[0].Partitions)
	for id := range ids {
		ids[id] = id
	}
	var ends []kafka.OffsetRequest
	for _, id := range ids {
		ends = append(ends, kafka.LastOffsetOf(id))
	}
	end, err := s.offsets(ctx, topic, ends)
	if err != nil {
		return nil, err
	}
	first, err := s.at(ctx, topic, ids, from)
	if err != nil {
		return nil, err
	}
	last, err := s.at(ctx, topic, ids, to)
	if err != nil {
		return nil, err
	}
	committed, err := s.committed(ctx, topic, ids)
	if err != nil {
		return nil, err
	}
	parts := make([]push.Part, len(ids))
	for _, id := range ids {
		parts[id] = push.Part{Topic: topic, Partition: id, Committed: -1, End: end[id].LastOffset}
		parts[id].From, parts[id].To = orEnd(first[id], end[id].LastOffset), orEnd(last[id], end[id].LastOffset)
	}
	for _, p := range committed {
		parts[p.Partition].Committed = p.CommittedOffset
	}
	return parts, nil
}

// committed asks for the group's offsets, again while its coordinator is moving.
func (s *Survey) committed(ctx context.Context, topic string, ids []int) ([]kafka.OffsetFetchPartition, error) {
	asked := &kafka.OffsetFetchRequest{GroupID: s.group, Topics: map[string][]int{topic: ids}}
	found, err := backoff.Retry(ctx, func() ([]kafka.OffsetFetchPartition, error) {
		answer, err := s.client.OffsetFetch(ctx, asked)
		if err == nil {
			err = answer.Error
		}
		var refused kafka.Error
		switch {
		case err == nil:
			return answer.Topics[topic], nil
		case errors.As(err, &refused) && !refused.Temporary():
			return nil, backoff.Permanent(err)
		}
		return nil, err
	}, backoff.WithMaxTries(coordinatorTries))
	if err != nil {
		return nil, fmt.Errorf("asking for the offsets of group %s: %w", s.group, err)
	}
	return found, nil
}

// at asks each partition for its first offset at or after t; -1 where there is none.
func (s *Survey) at(ctx context.Context, topic string, ids []int, t time.Time) (map[int]int64, error) {
	var asked []kafka.OffsetRequest
	for _, id := range ids {
		asked = append(asked, kafka.TimeOffsetOf(id, t))
	}
	answers, err := s.offsets(ctx, topic, asked)
	if err != nil {
		return nil, err
	}
	found := make(map[int]int64, len(ids))
	for _, id := range ids {
		found[id] = -1
		for offset := range answers[id].Offsets {
			found[id] = offset
		}
	}
	return found, nil
}

func (s *Survey) offsets(ctx context.Context, topic string, asked []kafka.OffsetRequest) (map[int]kafka.PartitionOffsets, error) {
	answer, err := s.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: asked}})
	if err != nil {
		return nil, fmt.Errorf("asking for the offsets of topic %s: %w", topic, err)
	}
	by := make(map[int]kafka.PartitionOffsets, len(asked))
	for _, p := range answer.Topics[topic] {
		if p.Error != nil {
			return nil, fmt.Errorf("asking for the offsets of %s/%d: %w", topic, p.Partition, p.Error)
		}
		by[p.Partition] = p
	}
	return by, nil
}

func orEnd(offset, end int64) int64 {
	if offset < 0 {
		return end
	}
	return offset
}

// Read hands every record of the part's time to each, in order; an error of each ends it.
func (s *Survey) Read(ctx context.Context, part push.Part, each func(push.Record) error) error {
	if part.From >= part.To {
		return nil
	}
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: s.cluster.Brokers, Dialer: s.cluster.dialer(s.wire), Topic: part.Topic, Partition: part.Partition,
		MinBytes: 1, MaxBytes: 64 << 20, MaxWait: 500 * time.Millisecond,
	})
	defer func() { _ = r.Close() }()
	if err := r.SetOffset(part.From); err != nil {
		return fmt.Errorf("reading %s/%d: %w", part.Topic, part.Partition, err)
	}
	for {
		m, err := s.next(ctx, r)
		switch {
		case errors.Is(err, errQuiet): // an end without records, or a Kafka that is away?
			_, err := s.offsets(ctx, part.Topic, []kafka.OffsetRequest{kafka.LastOffsetOf(part.Partition)})
			return err
		case err == nil && m.Offset >= part.To:
			return nil
		case err != nil:
			return fmt.Errorf("reading %s/%d: %w", part.Topic, part.Partition, err)
		}
		if err := each(record(m)); err != nil || m.Offset == part.To-1 {
			return err
		}
	}
}

// errQuiet says that no record came although offsets are left.
var errQuiet = errors.New("no record came")

func (s *Survey) next(ctx context.Context, r *kafka.Reader) (kafka.Message, error) {
	wait, cancel := context.WithTimeout(ctx, surveyWait+s.cluster.Timeout)
	defer cancel()
	m, err := r.ReadMessage(wait)
	if err != nil && ctx.Err() == nil && wait.Err() != nil {
		return m, errQuiet
	}
	return m, err
}
