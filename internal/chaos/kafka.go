package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

const (
	group      = "chaos"
	partitions = 6 // of the events' topics: two for each of three pushers
	askMost    = 5 * time.Second
)

// kafkaView is the referee's look at topics and offsets.
type kafkaView struct {
	client    *kafka.Client
	transport *kafka.Transport
}

func newKafkaView(brokers []string) *kafkaView {
	transport := new(kafka.Transport)
	return &kafkaView{&kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport, Timeout: askMost}, transport}
}

func (v *kafkaView) close() error {
	v.transport.CloseIdleConnections()
	return nil
}

// topics names the topics with their partitions.
func topics() map[string]int {
	return map[string]int{topic: partitions, "push-events-retry": partitions, "push-events-dlq": 1}
}

func (v *kafkaView) makeTopics(ctx context.Context) error {
	var wanted []kafka.TopicConfig
	for name, n := range topics() {
		wanted = append(wanted, kafka.TopicConfig{Topic: name, NumPartitions: n, ReplicationFactor: 1})
	}
	made, err := v.client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: wanted})
	if err != nil {
		return fmt.Errorf("making the topics: %w", err)
	}
	for name, err := range made.Errors {
		if err != nil {
			return fmt.Errorf("making the topic %s: %w", name, err)
		}
	}
	return nil
}

// lag is how many records the group has not committed, over both topics that it reads.
func (v *kafkaView) lag(ctx context.Context) (int64, error) {
	ends := map[string][]kafka.OffsetRequest{}
	asked := map[string][]int{}
	for _, name := range []string{topic, "push-events-retry"} {
		for id := range partitions {
			ends[name] = append(ends[name], kafka.LastOffsetOf(id))
			asked[name] = append(asked[name], id)
		}
	}
	end, err := v.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: ends})
	if err != nil {
		return 0, fmt.Errorf("asking for the ends of the topics: %w", err)
	}
	committed, err := v.client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: asked})
	if err == nil {
		err = committed.Error
	}
	if err != nil {
		return 0, fmt.Errorf("asking for the group's offsets: %w", err)
	}
	var lag int64
	for name, parts := range end.Topics {
		for _, p := range parts {
			lag += p.LastOffset
		}
		for _, p := range committed.Topics[name] {
			lag -= max(p.CommittedOffset, 0)
		}
	}
	return lag, nil
}
