package e2e

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// TestFieldReport08_BacklogInBoundedMemory: a backlog many times as large as what a worker may hold. Heap, goroutines,
// bytes that wait and requests that are out stay bounded by the configuration.
func TestFieldReport08_BacklogInBoundedMemory(t *testing.T) { //nolint:paralleltest // it measures the process, so it runs alone
	n, partitions := 300, 12
	if os.Getenv(longVariable) != "" {
		n = 2000
	}
	s := newSystem(t, partitions)
	s.patient()
	s.cfg.Worker.InFlight, s.cfg.Worker.Waiting, s.cfg.Worker.WaitingBytes = 16, 64, 4<<20
	s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(50 * time.Millisecond)})
	padding := strings.Repeat("0123456789abcde ", 150<<10/16)
	for i := range n {
		s.write(event(i, fmt.Sprintf(`"actions":["sms"],"padding":%q,`, padding)))
	}
	heap, goroutines := process()
	p, stop := s.run()
	var mostHeap uint64
	var mostGoroutines int
	var mostBytes float64
	s.eventually("all sent", func() bool {
		h, g := process()
		mostHeap, mostGoroutines = max(mostHeap, h), max(mostGoroutines, g)
		mostBytes = max(mostBytes, metric(t, p.Addr(), "pusher_waiting_bytes"))
		sent := s.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`)
		if s.number(`SELECT count(*) FROM push_log`) == n && sent < n {
			s.pass() // what waited for too long was given back
		}
		return sent == n
	})
	s.caughtUp()
	stop()
	s.accepted(n)
	t.Logf("%d MiB of events: heap %d MiB more, %d goroutines more, %d KiB waiting", n*150>>10, (mostHeap-min(heap, mostHeap))>>20, mostGoroutines-goroutines, int(mostBytes)>>10)
	// Twice what is live, by the collector's habit: what waits, and one fetch a partition with its copy.
	if bound := heap + 2*(4<<20+uint64(partitions)*2<<20) + 32<<20; mostHeap > bound {
		t.Errorf("the heap grew to %d MiB, the bound is %d MiB", mostHeap>>20, bound>>20)
	}
	if mostGoroutines-goroutines > 400 {
		t.Errorf("%d goroutines for %d places", mostGoroutines-goroutines, s.cfg.Worker.Waiting)
	}
	if mostBytes > 4<<20+1<<20 {
		t.Errorf("%v bytes wait", mostBytes)
	}
	if got := s.number(`SELECT count(*) FROM push_log WHERE status <> $1`, string(push.Sent)); got != 0 {
		t.Errorf("%d rows are not sent", got)
	}
}

// process is the heap in use and how many goroutines there are.
func process() (heap uint64, goroutines int) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse, runtime.NumGoroutine()
}
