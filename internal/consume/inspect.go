package consume

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

// ErrNoTopic says that a topic does not exist or has no partition.
var ErrNoTopic = errors.New("no such topic")

// TopicInfo is what an operator wants to know of a topic.
type TopicInfo struct {
	Name            string
	Partitions      int
	MaxMessageBytes int   // what the topic takes as one batch; 0 where the brokers do not tell
	Err             error // ErrNoTopic, or what the brokers said of this topic
}

// Inspect asks the cluster about topics and makes none. Its error names the brokers; each topic's own is in TopicInfo.
func Inspect(ctx context.Context, cluster Cluster, names ...string) ([]TopicInfo, error) {
	cluster = cluster.withDefaults()
	if err := cluster.validate(); err != nil {
		return nil, err
	}
	mechanism, _ := cluster.mechanism()
	transport := &kafka.Transport{
		ClientID: cluster.ClientID, DialTimeout: cluster.Timeout, MetadataTTL: time.Minute,
		TLS: cluster.TLS, SASL: mechanism,
	}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(cluster.Brokers...), Transport: transport, Timeout: cluster.Timeout}
	meta, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: names})
	if err != nil {
		return nil, fmt.Errorf("asking kafka at %s: %w", strings.Join(cluster.Brokers, ","), err)
	}
	infos := make([]TopicInfo, len(names))
	for i, name := range names {
		infos[i] = TopicInfo{Name: name, Err: ErrNoTopic}
		for _, t := range meta.Topics {
			if t.Name == name {
				infos[i].describe(ctx, client, t)
			}
		}
	}
	return infos, nil
}

// describe fills in what the brokers say of a topic.
func (t *TopicInfo) describe(ctx context.Context, client *kafka.Client, meta kafka.Topic) {
	t.Partitions = len(meta.Partitions)
	switch {
	case errors.Is(meta.Error, kafka.UnknownTopicOrPartition), meta.Error == nil && t.Partitions == 0:
		return
	case meta.Error != nil:
		t.Err = meta.Error
		return
	}
	t.Err = nil
	const setting = "max.message.bytes"
	res, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: t.Name, ConfigNames: []string{setting},
	}}})
	if err != nil || len(res.Resources) == 0 {
		return // it may be forbidden; the topic can be used all the same
	}
	for _, entry := range res.Resources[0].ConfigEntries {
		if entry.ConfigName == setting {
			t.MaxMessageBytes, _ = strconv.Atoi(entry.ConfigValue)
		}
	}
}
