package bench

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pusher/internal/sandbox/local"
)

const (
	sampleEvery = 200 * time.Millisecond
	stopMost    = 15 * time.Second // from SIGTERM to the end of a child process
)

// errEarly is what became of a child process that ended by itself, and well.
var errEarly = errors.New("exit code 0 before it was told to stop")

// child is one process under measurement.
type child struct {
	proc *local.Process
	http string
	log  string
}

// sample is what a child process showed at one time.
type sample struct {
	at       time.Time
	done     float64 // deliveries taken care of, duplicates included
	mallocs  float64
	bytes    float64 // allocated
	cpu      float64 // seconds
	resident float64 // bytes
}

// start starts this very program again, in the role of the job.
func (w *world) start(j job) (*child, error) {
	port, err := local.FreePort()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	c := &child{http: "127.0.0.1:" + strconv.Itoa(port), log: filepath.Join(w.dir, j.room.group+"-"+j.role+".log")}
	cmd := exec.Command(self, "--role", j.role, "--latency", j.latency.String(), "--profile", w.profile) //nolint:noctx // ended by end
	cmd.Env = w.environment(j, c.http)
	if c.proc, err = local.StartProcess(cmd, c.log); err != nil {
		return nil, fmt.Errorf("starting %s: %w", j.role, err)
	}
	return c, nil
}

// end stops the child in order.
func (c *child) end() { c.proc.End(syscall.SIGTERM, stopMost) }

// sample asks the child for its metrics; before it shows any, all is 0.
func (c *child) sample(ctx context.Context) (sample, error) {
	select {
	case <-c.proc.Ended():
		text, _ := os.ReadFile(c.log)
		return sample{}, fmt.Errorf("a process under measurement ended: %w\n%s", cmp.Or(c.proc.Err(), errEarly), text)
	default:
	}
	s := sample{at: time.Now()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.http+"/metrics", nil)
	if err != nil {
		return s, err
	}
	response, err := http.DefaultClient.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("reading metrics: %w", err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		s.read(lines.Text())
	}
	return s, lines.Err()
}

// read takes one line of Prometheus' text format.
func (s *sample) read(line string) {
	name, rest, _ := strings.Cut(line, " ")
	name, _, _ = strings.Cut(name, "{")
	value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
	if err != nil {
		return
	}
	switch name {
	case "pusher_deliveries_total", "pusher_duplicates_total":
		s.done += value
	case "go_memstats_mallocs_total":
		s.mallocs += value
	case "go_memstats_alloc_bytes_total":
		s.bytes += value
	case "process_cpu_seconds_total":
		s.cpu += value
	case "process_resident_memory_bytes":
		s.resident += value
	}
}

// add sums what several processes showed.
func (s *sample) add(o sample) {
	s.done += o.done
	s.mallocs += o.mallocs
	s.bytes += o.bytes
	s.cpu += o.cpu
	s.resident += o.resident
}
