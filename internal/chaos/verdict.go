package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"pusher/internal/operate"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// fewWrong bounds the deliveries that are told of one by one.
const fewWrong = 20

// verdict is how a run ended.
type verdict struct {
	options  Options
	events   int
	records  int
	faults   map[string]int
	answers  map[provider.Kind]int // what the providers did wrong
	repeats  int                   // sends that WeChat itself recognised as repeats
	died     int64                 // processes that ended by nobody's will
	unclean  int64                 // SIGTERMs that did not end in exit 0
	healed   time.Duration         // from the healing until all was quiet
	lag      int64
	immortal int // keys without a time to live

	deliveries int
	byAction   map[push.Action]map[push.Status]int
	retried    int // sent at a later attempt than the first
	doubled    int // accepted more than once
	lost       int // must be sent, was accepted by nobody, and nothing will come of it any more
	missing    int // of these, without a row
	strays     int // in a state that is not what its event asks for, or that belies what was accepted
	open       int // failed, deferred, queued or sending
	sending    int // of these
	letters    int // dead letters not written
	unknown    int // held, since the provider cannot say
	accepted   int // of these, accepted: by Tencent, which cannot be asked
	repeating  int // of these, WeChat's that refuses each repeat of what it may have accepted; their messages come and go
	untold     int // unknown although the provider can say
	extra      int // rows and messages that no event asked for
	audit      operate.Report
	wrong      []wrong
}

// wrong is one delivery that is not as it must be.
type wrong struct {
	which

	row   row
	words string
}

func newVerdict(r *run) *verdict {
	v := &verdict{
		options: r.Options, events: len(r.author.events), records: r.records, faults: r.faults.copied(),
		answers: r.world.sandbox.Hits(), repeats: r.world.sandbox.Repeats(), byAction: map[push.Action]map[push.Status]int{},
	}
	delete(v.answers, provider.Latency) // slow is not wrong
	for _, m := range r.fleet {
		v.died += m.died.Load()
		v.unclean += m.unclean.Load()
	}
	return v
}

// count takes one delivery into the verdict: what it must come to, its row, and how often it was accepted.
func (v *verdict) count(w which, want push.Status, o row, accepted int) {
	v.deliveries++
	if v.byAction[w.action] == nil {
		v.byAction[w.action] = map[push.Status]int{}
	}
	v.byAction[w.action][o.status]++
	if o.letter {
		v.letters++
	}
	at := v.place(w, want, o, accepted)
	if at == nil {
		return
	}
	*at++
	if at != &v.unknown && at != &v.retried && len(v.wrong) < fewWrong {
		v.wrong = append(v.wrong, wrong{w, o, fmt.Sprintf("%s: accepted %d times, row says %q, should be %q",
			w.identity().Key(), accepted, o.status, want)})
	}
}

// place is the count that a delivery belongs to; nil when all is as it should be at the first attempt.
func (v *verdict) place(w which, want push.Status, o row, accepted int) *int {
	switch {
	case accepted > 1:
		return &v.doubled
	case want != push.Sent && accepted > 0:
		return &v.strays // sent against its rule
	case o.status == "":
		v.missing++
		return &v.lost
	case o.status == push.Unknown || o.repeats(w, want):
		return v.held(w, want, o, accepted)
	case !o.status.Settled():
		if o.status == push.Sending {
			v.sending++
		}
		return &v.open
	case want == push.Sent && accepted == 0:
		return &v.lost
	case o.status != want:
		return &v.strays
	case want == push.Sent && o.attempt > 1:
		return &v.retried
	}
	return nil
}

// held is the count that an unknown delivery belongs to.
func (v *verdict) held(w which, want push.Status, o row, accepted int) *int {
	if o.canBeTold(w, want, accepted) {
		return &v.untold
	}
	v.accepted += accepted
	if o.repeats(w, want) {
		v.repeating++
	}
	return &v.unknown
}

// quiet reports whether nothing is left to do.
func (v *verdict) quiet() bool {
	return v.missing == 0 && v.open == 0 && v.untold == 0 && v.letters == 0 && v.lag <= int64(v.repeating)
}

// left says what is.
func (v *verdict) left() string {
	return fmt.Sprintf("%d without a row, %d open, %d unknown that can be told, %d letters, lag %d", v.missing, v.open, v.untold, v.letters, v.lag)
}

func (v *verdict) good() bool {
	return v.quiet() && v.doubled == 0 && v.lost == 0 && v.strays == 0 && v.extra == 0 && v.immortal == 0 && v.died == 0 && len(v.audit.Gaps) == 0
}

// print writes the table, and how to see it again.
func (v *verdict) print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(what string, n any, words string) { _, _ = fmt.Fprintf(t, "%s\t%v\t%s\n", what, n, words) }
	line("events", v.events, fmt.Sprintf("%d records on Kafka: repeated, under other ids and keys, replayed", v.records))
	line("deliveries", v.deliveries, "")
	for _, action := range []push.Action{push.Notify, push.SMS, push.WeChat} {
		line("  "+string(action), sum(v.byAction[action]), words(v.byAction[action]))
	}
	line("faults", sum(v.faults), "")
	for _, name := range slices.Sorted(maps.Keys(v.faults)) {
		line("  "+name, v.faults[name], "")
	}
	line("requests that a provider failed", sum(v.answers), words(v.answers))
	line("  repeats that WeChat recognised", v.repeats, "by client_msg_id, inside its window")
	line("sent at a later attempt", v.retried, "")
	line("doubled", v.doubled, "")
	line("lost", v.lost, "")
	line("unknown", v.unknown, fmt.Sprintf("held: the provider cannot say; %d of them were accepted", v.accepted))
	line("unknown although the provider can say", v.untold, "")
	line("left open", v.open, fmt.Sprintf("%d of them sending", v.sending))
	line("in a wrong state, or too many", v.strays+v.extra, "")
	line("dead letters not written", v.letters, "")
	line("group lag", v.lag, fmt.Sprintf("at most %d: WeChat's refusals of what it may have accepted, repeated inside the window", v.repeating))
	line("keys without a time to live", v.immortal, "")
	line("processes that ended by themselves", v.died, fmt.Sprintf("%d SIGTERMs did not end in exit 0", v.unclean))
	line("gaps that the audit finds", len(v.audit.Gaps), fmt.Sprintf("pusher log audit: %d deliveries and %d keys compared, Aliyun asked about %d SMS; %d notes",
		v.audit.Deliveries, v.audit.Keys, v.audit.Asked, len(v.audit.Notes)))
	_ = t.Flush()
	for _, w := range v.wrong {
		_, _ = fmt.Fprintln(out, "  "+w.words)
	}
	for _, f := range v.audit.Gaps[:min(fewWrong, len(v.audit.Gaps))] {
		_, _ = fmt.Fprintf(out, "  %s: the audit finds %s, %s: %s\n", f.Key, f.Kind, f.Where, f.Says)
	}
	_, _ = fmt.Fprintf(out, "Quiet %s after the healing. Again: make chaos SEED=%d CHAOS_FOR=%s\n", v.healed.Round(time.Second), v.options.Seed, brief(v.options.For))
}

// brief is a duration as people write it: 10m, not 10m0s.
func brief(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "m0s")
	if text != d.String() {
		text += "m"
	}
	return text
}

func sum[K comparable](by map[K]int) int {
	all := 0
	for _, n := range by {
		all += n
	}
	return all
}
