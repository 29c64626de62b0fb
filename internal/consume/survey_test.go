package consume

import (
	"fmt"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/testbed"
)

func TestSurveyReadsTheRecordsOfATimeAndJoinsNoGroup(t *testing.T) {
	t.Parallel()
	cluster, topic := Cluster{Brokers: testbed.Kafka(t)}, testbed.Topic(t, 2)
	producer, err := NewProducer(cluster)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close(t.Context())
	survey, err := NewSurvey(cluster, testbed.Unique(t))
	if err != nil {
		t.Fatal(err)
	}
	defer survey.Close()
	write := func(from, to int) {
		var records []push.Record
		for i := from; i < to; i++ {
			records = append(records, push.Record{
				Origin: push.Origin{Topic: topic}, Key: fmt.Append(nil, i), Value: fmt.Append(nil, i), Headers: []push.Header{{Key: "a", Value: []byte("b")}},
			})
		}
		if err := producer.Publish(t.Context(), records); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 20)
	time.Sleep(5 * time.Millisecond) // Kafka's timestamps are milliseconds
	middle := time.Now()
	time.Sleep(5 * time.Millisecond)
	write(20, 50)
	for name, c := range map[string]struct {
		from, to time.Time
		want     int
	}{
		"all":    {middle.Add(-time.Hour), middle.Add(time.Hour), 50},
		"before": {middle.Add(-time.Hour), middle, 20},
		"after":  {middle, middle.Add(time.Hour), 30},
		"later":  {middle.Add(time.Hour), middle.Add(2 * time.Hour), 0},
	} {
		parts, err := survey.Parts(t.Context(), topic, c.from, c.to)
		if err != nil || len(parts) != 2 {
			t.Fatalf("%s: %+v, %v", name, parts, err)
		}
		n, end := 0, int64(0)
		for _, part := range parts {
			if end += part.End; part.Committed != -1 {
				t.Errorf("%s: a group that never was has committed %d", name, part.Committed)
			}
			last := int64(-1)
			err := survey.Read(t.Context(), part, func(r push.Record) error {
				if r.Offset <= last || r.Partition != part.Partition || len(r.Headers) != 1 {
					t.Errorf("%s: record %+v after offset %d", name, r, last)
				}
				last = r.Offset
				n++
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if n != c.want || end != 50 {
			t.Errorf("%s: read %d of %d records, want %d", name, n, end, c.want)
		}
	}
}

func TestSurveyOfATopicThatIsNotThereSaysSo(t *testing.T) {
	t.Parallel()
	survey, err := NewSurvey(Cluster{Brokers: testbed.Kafka(t)}, "nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer survey.Close()
	if _, err := survey.Parts(t.Context(), testbed.Unique(t), time.Now(), time.Now()); err == nil {
		t.Error("a topic that is not there was surveyed")
	}
}
