package assemble

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Stopped is how many messages a pusher discarded as duplicates, by what stopped them.
type Stopped struct {
	Redis int // the key
	Row   int // the push log
}

// Stopped reads the pusher's own metrics.
func (p *Pusher) Stopped() Stopped {
	by := map[string]int{}
	families, _ := p.metrics.Gatherer().Gather() // what could not be gathered is no duplicate
	for _, family := range families {
		if family.GetName() == prometheus.BuildFQName("pusher", "", "duplicates_total") {
			for _, m := range family.GetMetric() {
				by[label(m, "by")] += int(m.GetCounter().GetValue())
			}
		}
	}
	return Stopped{Redis: by["redis"], Row: by["row"]}
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// Lag is how many records of its partitions the pusher has not taken care of; 0 before it has any.
func (p *Pusher) Lag() int64 {
	p.ready.mu.Lock()
	consumer := p.ready.consumer
	p.ready.mu.Unlock()
	if consumer == nil {
		return 0
	}
	var lag int64
	for _, part := range consumer.Stats().Partitions {
		lag += part.Lag()
	}
	return lag
}
