package telemetry

import (
	"strconv"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pusher/internal/push"
)

// However many values come, labels stay bounded and nothing is lost.
func TestChildrenKeepSoManyAndCountAll(t *testing.T) {
	t.Parallel()
	m := New("v1")
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for i := range childrenMost + 100 {
				m.Row(push.SMS, "p"+strconv.Itoa(i), push.Sent)
			}
		})
	}
	all.Wait()
	if got := testutil.ToFloat64(m.deliveries.WithLabelValues("sms", other, "sent")); got != 2*(childrenMost+100) {
		t.Errorf("counted %v", got)
	}
	if kept := len(*m.hot.deliveries.known.Load()); kept != childrenMost {
		t.Errorf("%d are kept", kept)
	}
}
