package consume

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pusher/internal/testbed"
)

func TestInspectTellsOfTopicsAndMakesNone(t *testing.T) {
	t.Parallel()
	cluster := Cluster{Brokers: testbed.Kafka(t)}
	have, absent := testbed.Topic(t, 3), testbed.Unique(t)
	for range 2 { // a question that made the topic would be answered otherwise the second time
		infos, err := Inspect(t.Context(), cluster, have, absent)
		if err != nil {
			t.Fatal(err)
		}
		if infos[0].Name != have || infos[0].Partitions != 3 || infos[0].Err != nil {
			t.Errorf("got %+v", infos[0])
		}
		if infos[1].Name != absent || !errors.Is(infos[1].Err, ErrNoTopic) {
			t.Errorf("got %+v", infos[1])
		}
	}
}

func TestInspectNamesBrokersThatAreAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := Inspect(ctx, Cluster{Brokers: []string{"127.0.0.1:1"}, Timeout: time.Second}, "t")
	if err == nil || !strings.Contains(err.Error(), "kafka at 127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
}
