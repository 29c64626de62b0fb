package demo

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"pusher/internal/assemble"
	"pusher/internal/push"
)

// verdict is how the story ended.
type verdict struct {
	took      time.Duration
	events    int
	requests  int // by Idempotency-Key
	posts     int // of these
	cuts      int // posts that lost their connection before the answer
	replays   int // posts that got the answer of an earlier one
	byAction  map[push.Action]map[push.Status]int
	stopped   stopped
	recovered push.Tally

	retried   int      // sent at a later attempt than the first
	twice     int      // accepted more than once
	lost      int      // must be sent, and no provider accepted it
	strays    int      // in another state than the story says
	strayed   []string // the first few of all that went wrong, in words
	neverSent int      // skipped, expired or dead, and rightly accepted by nobody
}

// stopped is how many messages each line of defence discarded.
type stopped assemble.Stopped

func (s *stopped) add(o assemble.Stopped) {
	s.Redis += o.Redis
	s.Row += o.Row
}

// count takes one delivery into the verdict: its row, and how often it was accepted.
func (v *verdict) count(w want, row push.Row, accepted int) {
	if v.byAction[w.Action] == nil {
		v.byAction[w.Action] = map[push.Status]int{}
	}
	v.byAction[w.Action][row.Status]++
	sent := w.status == push.Sent
	switch {
	case accepted > 1:
		v.twice++
		v.wrong(w, row, accepted)
	case sent && accepted == 0:
		v.lost++
		v.wrong(w, row, accepted)
	case row.Status != w.status || !sent && accepted > 0:
		v.strays++
		v.wrong(w, row, accepted)
	case !sent:
		v.neverSent++
	case row.Attempt > 1:
		v.retried++
	}
}

func (v *verdict) wrong(w want, row push.Row, accepted int) {
	const few = 10
	if len(v.strayed) < few {
		v.strayed = append(v.strayed, fmt.Sprintf("%s: accepted %d times, row says %q, should be %q",
			w.Key(), accepted, row.Status, w.status))
	}
}

func (v *verdict) good() bool { return v.twice == 0 && v.lost == 0 && v.strays == 0 }

// print writes the table.
func (v *verdict) print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(what string, n int, words string) { _, _ = fmt.Fprintf(t, "%s\t%d\t%s\n", what, n, words) }
	line("events", v.events, "business facts")
	line("requests to the gateway", v.requests, "producers send some events again under another event_id; one in ten once more")
	line("  posts", v.posts, fmt.Sprintf("same key at once, and again after no answer; %d connections were cut", v.cuts))
	line("  replays", v.replays, "posts that got the same answer again, and nothing was written")
	for _, action := range []push.Action{push.Notify, push.SMS, push.WeChat, "fax"} {
		by, all := v.byAction[action], 0
		for _, n := range by {
			all += n
		}
		line("deliveries by "+string(action), all, statusWords(by))
	}
	line("duplicates stopped by Redis", v.stopped.Redis, "the key was there")
	line("duplicates stopped by the push log", v.stopped.Row, "Redis was emptied on the way; the row knew")
	line("failed and recovered", v.retried, "refused, timed out or put off, and sent at a later attempt")
	line("  re-queued by the compensator", v.recovered.Requeued, "with backoff")
	line("  timed out and found at the provider", v.recovered.Found, fmt.Sprintf("by asking %d times; not sent again", v.recovered.Asked))
	line("given up, with a dead letter", v.recovered.Letters, "the provider refuses the recipient for good")
	line("sent twice", v.twice, "")
	line("lost", v.lost, "")
	line("in a wrong state", v.strays, "")
	_ = t.Flush()
	for _, s := range v.strayed {
		_, _ = fmt.Fprintln(out, "  "+s)
	}
	_, _ = fmt.Fprintf(out, "It took %s.\n", v.took.Round(100*time.Millisecond))
}

func statusWords(by map[push.Status]int) string {
	var words []string
	for _, s := range push.Statuses() {
		if by[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", by[s], s))
		}
	}
	return strings.Join(words, ", ")
}
