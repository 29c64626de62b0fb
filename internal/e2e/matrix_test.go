package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pusher/internal/fault"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// matrixFile names the file that the whole matrix is written to; without it a part of the matrix is tested: every
// point once, each with another channel and kind.
const matrixFile = "CRASH_MATRIX"

// cellsAtOnce is how many cells run at the same time: they mostly wait for leases and sessions to end.
const cellsAtOnce = 12

// frozen is how long a stall lasts: past the lease of the claim, and past the session at the group.
const frozen = 8 * time.Second

// cell is one scene, with one channel, and one thing that happens.
type cell struct {
	scene

	action push.Action
	kind   fault.Kind
}

func (c cell) name() string { return fmt.Sprintf("%s/%s/%s", c.point, c.action, c.kind) }

// outcome is what a cell came to.
type outcome struct {
	accepted int         // sends that a provider accepted, or messages in the inbox
	status   push.Status // of the row; empty: there is none
	rows     int
	letters  int64
	lag      int64
	good     bool
}

func (o outcome) String() string {
	text := fmt.Sprintf("%d, %s", o.accepted, o.status)
	if o.rows == 0 {
		text = "no row"
	}
	if o.letters > 0 {
		text += ", letter"
	}
	if !o.good {
		text = "**" + text + "**"
	}
	return text
}

// TestCrashMatrix: whatever breaks between whichever two steps, at most one send is accepted, exactly one where the
// channel's capability allows, and every delivery ends in a state that says what became of it.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	file := os.Getenv(matrixFile)
	cells := every()
	if file == "" {
		cells = some()
	}
	var mu sync.Mutex // guards results
	results := make(map[string]outcome, len(cells))
	queue := make(chan cell)
	var workers sync.WaitGroup
	for range cellsAtOnce {
		workers.Go(func() {
			for c := range queue {
				t.Run(c.name(), func(t *testing.T) {
					o := c.play(t)
					mu.Lock()
					defer mu.Unlock()
					results[c.name()] = o
				})
			}
		})
	}
	for _, c := range cells {
		queue <- c
	}
	close(queue)
	workers.Wait()
	if file != "" {
		if err := os.WriteFile(file, []byte(table(cells, results)), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// TestEveryPointHasAScene: a point that nothing comes to proves nothing.
func TestEveryPointHasAScene(t *testing.T) {
	t.Parallel()
	var points []fault.Point
	for _, s := range scenes() {
		points = append(points, s.point)
	}
	if !slices.Equal(points, fault.Points()) {
		t.Errorf("scenes are for %v\npoints are %v", points, fault.Points())
	}
}

// every lists the cells of the whole matrix.
func every() []cell {
	var cells []cell
	for _, s := range scenes() {
		for _, a := range s.actions {
			for _, k := range fault.Kinds() {
				cells = append(cells, cell{s, a, k})
			}
		}
	}
	return cells
}

// some lists one cell of each point.
func some() []cell {
	kinds := fault.Kinds()
	var cells []cell
	for i, s := range scenes() {
		cells = append(cells, cell{s, s.actions[i/len(kinds)%len(s.actions)], kinds[i%len(kinds)]})
	}
	return cells
}

// play runs the cell: one event, a process that breaks, what a live installation would do about it, and the judgment.
func (c cell) play(t *testing.T) outcome {
	in := install(t, c.settings)
	if c.provider.Kind != "" {
		if err := in.sandbox.SetFaults([]provider.Fault{c.provider}); err != nil {
			t.Fatal(err)
		}
	}
	in.write(c.event())
	broken := c.breaks(in)
	var live []*program
	switch c.kind {
	case fault.Stall:
		in.t.Cleanup(inTheBackground(t, func(ctx context.Context) {
			wait(ctx, frozen)
			broken.Signal(syscall.SIGCONT)
		}))
	case fault.Die:
		broken.gone()
	case fault.Error:
	}
	if c.kind != fault.Error || c.term != "" || c.compensator && c.lostPusher() {
		live = append(live, in.pusher(""))
	}
	woken := time.Now().Add(frozen + time.Second)
	var o outcome
	in.passes(soon, func() bool {
		o = in.outcome(c)
		return o.good && (c.kind != fault.Stall || time.Now().After(woken))
	})
	for _, p := range live {
		p.retire()
	}
	if c.kind == fault.Error {
		broken.retire()
	}
	if o = in.outcome(c); !o.good {
		t.Errorf("came to %v; rows %d, lag %d", o, o.rows, o.lag)
	}
	return o
}

// event is the record that the cell is about.
func (c cell) event() string {
	more := fmt.Sprintf(`"actions":[%q],`, c.action)
	if c.poison {
		return `{"biz_type":`
	}
	return event(1, more)
}

// breaks starts what comes to the point and returns the process that broke there.
func (c cell) breaks(in *installation) *program {
	in.t.Helper()
	faults := fmt.Sprintf("%s=%s", c.point, c.kind)
	if c.with != "" {
		faults = c.with + "," + faults
	}
	var broken *program
	if c.compensator {
		first := in.pusher(c.first)
		if c.lostPusher() {
			first.gone()
		}
		if c.prior != "" {
			in.start("compensator", c.prior, "--every", "500ms").gone()
		}
		broken = in.start("compensator", faults, "--every", "500ms")
	} else {
		broken = in.pusher(faults)
	}
	if c.term != "" {
		broken.says(c.term)
		broken.Signal(syscall.SIGTERM)
	}
	broken.says(fault.Said(c.point, c.kind))
	return broken
}

// lostPusher reports whether the pusher before the compensator dies.
func (c cell) lostPusher() bool { return strings.Contains(c.first, string(fault.Die)) }

// outcome looks at the providers' journal, the inbox, the log and the group, and judges.
func (in *installation) outcome(c cell) outcome {
	in.t.Helper()
	o := outcome{
		accepted: in.sandbox.Journal().Total("") + in.number(`SELECT count(*) FROM inbox_message`),
		rows:     in.number(`SELECT count(*) FROM push_log`),
		letters:  in.ends(in.cfg.Kafka.DeadLetterTopic)[0],
		lag:      in.lag(),
	}
	if o.accepted > 1 {
		in.t.Errorf("%d accepted sends", o.accepted)
	}
	var letterDue, over bool
	if o.rows == 1 {
		err := in.db.QueryRow(in.t.Context(), `SELECT status, letter_due, now() - coalesce(ambiguous_since, intent_at, now()) > $1
			FROM push_log`, in.cfg.Channels.SMS.AskFor+2*time.Second).Scan(&o.status, &letterDue, &over)
		if err != nil {
			in.t.Error(err)
		}
	}
	held := c.action == push.SMS && slices.Contains(c.unsent, c.kind) && o.status == push.Unknown && o.accepted == 0 && over
	switch {
	case o.lag != 0 || letterDue:
	case c.poison:
		o.good = o.rows == 0 && o.letters > 0
	case c.want == push.Dead:
		o.good = o.status == push.Dead && o.accepted == 0 && o.letters > 0
	default:
		o.good = o.rows == 1 && (held || o.status == c.want && o.accepted == 1)
	}
	return o
}

// inTheBackground runs fn beside the test; the returned function ends and waits for it.
func inTheBackground(t *testing.T, fn func(context.Context)) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { fn(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// table is the matrix as Markdown.
func table(cells []cell, results map[string]outcome) string {
	var b strings.Builder
	red := 0
	b.WriteString("| point | channel | die | error | stall past the lease |\n|---|---|---|---|---|\n")
	for i, c := range cells {
		o := results[c.name()]
		if !o.good {
			red++
		}
		if i%len(fault.Kinds()) == 0 {
			channel := string(c.action)
			if c.poison {
				channel = "(any)"
			}
			fmt.Fprintf(&b, "| `%s` | %s |", c.point, channel)
		}
		fmt.Fprintf(&b, " %s |", o)
		if i%len(fault.Kinds()) == len(fault.Kinds())-1 {
			b.WriteString("\n")
		}
	}
	head := fmt.Sprintf("# The crash matrix\n\nWritten by `make crash-matrix`: %d cells, %d red.\n%s\n", len(cells), red, matrixSays)
	return head + b.String()
}

// matrixSays explains the table.
const matrixSays = `
One event for one channel, real programs on real Kafka, Redis and PostgreSQL, and the provider sandbox. At the point one
thing happens, once: the process **dies** (as by kill -9), the call gives an **error** (before the point nothing was done,
after it the answer is lost), or the process **stalls** (SIGSTOP) past its lease and its session and goes on beside
another. Then pushers and the compensator do what they do every day, until nothing is left to do. Package
internal/fault names the points; internal/e2e has the scene of each.

Each cell says how many sends the provider accepted (of in-app messages: how many are in the inbox) and how the row ended.
A cell is red, and bold, when more than one was accepted, when none was although the channel allows exactly one, when the
row says otherwise than the provider, when a row is left sending, or when the group's lag is not 0.

"0, unknown" is an SMS whose process died between intent and result without its request having left: nobody can prove that
it did not, Aliyun knows nothing of it, and when_unknown is hold. It is visible, alarmed, and an operator's to decide.
With an error or a stall the process itself lives to prove that nothing left, and the SMS is sent; not so when it had been
told to stop and wakes after its grace (see lost.before).
`
