package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"pusher/internal/push"
)

// auditBatch is how many deliveries are looked up at once.
const auditBatch = 500

// Source is Kafka as an audit reads it, without joining the group.
type Source interface {
	Parts(ctx context.Context, topic string, from, to time.Time) ([]push.Part, error)
	Read(ctx context.Context, part push.Part, each func(push.Record) error) error
}

// Ledger is the push log as an audit reads it.
type Ledger interface {
	Look(ctx context.Context, lookups []push.Lookup) []push.Answer
	Twice(ctx context.Context, from, to time.Time) ([]push.Twice, error)
	Strays(ctx context.Context, from, to time.Time) ([]push.Stray, error)
}

// Counter asks a provider how many messages it took under a delivery's reference.
type Counter interface {
	Count(ctx context.Context, q push.Question) (int, error)
}

// AuditConfig is what an audit needs to know.
type AuditConfig struct {
	Topic, RetryTopic, DeadLetterTopic string
	Expected                           func(push.Record) ([]*push.Delivery, error) // as the pusher plans a record
	Region                             string                                      // of phones written without one
	Settled                            time.Duration                               // a key may differ from a row that moved within it (rule Q8)
	Now                                func() time.Time

	Provider    string // whose own details are compared; empty: nobody is asked
	Conclusive  bool   // the provider lists all that it took: none listed means none taken
	ListedAfter time.Duration
}

// AuditPorts is the world of an audit. Keys and Counter may be nil.
type AuditPorts struct {
	Source  Source
	Ledger  Ledger
	Keys    Keys
	Counter Counter
}

// Finding is one thing that does not fit.
type Finding struct {
	Kind  string `json:"kind"`          // one of the Kind constants
	Where string `json:"where"`         // topic/partition@offset, or a row
	Key   string `json:"key,omitempty"` // the delivery's dedup key
	Says  string `json:"says"`          // in words
}

// The kinds of a finding. Each is a gap but KindKey: a key only saves work, and the compensator repairs it.
const (
	KindNoRow     = "no_row"           // a committed record, and no row for a channel of it
	KindNoLetter  = "no_letter"        // a committed record that is no event, and no dead letter
	KindTwice     = "sent_twice"       // accepted more than once
	KindStray     = "row_missing"      // something is left of a delivery that has no row
	KindUnlisted  = "not_at_provider"  // sent by the log, unknown to the provider
	KindUntold    = "sent_by_provider" // not sent by the log, and the provider took it
	KindImmortal  = "key_without_end"  // a key that Redis keeps for ever
	KindKeyNoRow  = "key_without_row"  // a settled key, and no row
	KindKey       = "key_differs"      // a note: the key says other than the row
	KindCommitted = "offset_too_high"  // the group has committed more than there is
)

// Report is what an audit found.
type Report struct {
	From       time.Time   `json:"from"`
	To         time.Time   `json:"to"`
	Records    int         `json:"records"`    // of the time, in the events' topic
	Waiting    int64       `json:"waiting"`    // of both topics, not yet committed
	Deliveries int         `json:"deliveries"` // that committed records ask for
	Poison     int         `json:"poison"`     // records that are no event
	Keys       int         `json:"keys"`       // compared
	Asked      int         `json:"asked"`      // questions put to the provider
	Gaps       []Finding   `json:"gaps"`
	Notes      []Finding   `json:"notes"` // what does not fit and breaks nothing
	Partitions []push.Part `json:"partitions"`
}

// audit is one audit under way.
type audit struct {
	cfg AuditConfig
	AuditPorts

	report  Report
	letters map[string]bool // where records stood that have a dead letter
	batch   []expected
	keys    map[string]bool // looked at
}

// expected is a delivery that a committed record asks for.
type expected struct {
	*push.Delivery

	where string
}

// Audit compares what was written to Kafka in [from, to), by the records' own timestamps, with the push log, the dedup
// keys, and where a provider is named with what that took. It changes nothing. Records that the group has not committed
// are waited for, and no gap.
func Audit(ctx context.Context, cfg AuditConfig, ports AuditPorts, from, to time.Time) (Report, error) {
	a := &audit{cfg: cfg, AuditPorts: ports, letters: make(map[string]bool), keys: make(map[string]bool)}
	a.report = Report{From: from, To: to, Gaps: []Finding{}, Notes: []Finding{}}
	steps := []struct {
		doing string
		do    func(context.Context) error
	}{
		{"reading dead letters", a.readLetters},
		{"reading events", a.readEvents},
		{"looking at the retry topic", a.lookAtRetries},
		{"looking for what was sent twice", a.lookForTwice},
	}
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			return a.report, fmt.Errorf("%s: %w", step.doing, err)
		}
	}
	return a.report, nil
}

func (a *audit) gap(f Finding) { a.report.Gaps = append(a.report.Gaps, f) }

// readLetters remembers where the records of the dead letters stood. A letter is written after its record.
func (a *audit) readLetters(ctx context.Context) error {
	parts, err := a.Source.Parts(ctx, a.cfg.DeadLetterTopic, a.report.From, a.cfg.Now().Add(time.Hour))
	if err != nil {
		return err
	}
	for _, part := range parts {
		err := a.Source.Read(ctx, part, func(r push.Record) error {
			topic, _ := r.Header(push.HeaderTopic)
			partition, _ := r.Header(push.HeaderPartition)
			offset, _ := r.Header(push.HeaderOffset)
			a.letters[topic+"/"+partition+"@"+offset] = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readEvents goes through the records of the time and looks for the rows of each that is committed.
func (a *audit) readEvents(ctx context.Context) error {
	parts, err := a.Source.Parts(ctx, a.cfg.Topic, a.report.From, a.report.To)
	if err != nil {
		return err
	}
	a.report.Partitions = parts
	for _, part := range parts {
		a.progress(part)
		err := a.Source.Read(ctx, part, func(r push.Record) error {
			a.report.Records++
			if r.Offset >= part.Committed {
				return nil
			}
			if a.expect(r); len(a.batch) < auditBatch {
				return nil
			}
			return a.compare(ctx)
		})
		if err != nil {
			return err
		}
	}
	return a.compare(ctx)
}

// progress compares what the group has committed with what there is.
func (a *audit) progress(part push.Part) {
	a.report.Waiting += max(0, part.End-max(0, part.Committed))
	if part.Committed > part.End {
		a.gap(Finding{
			Kind: KindCommitted, Where: at3(part.Topic, part.Partition, part.Committed),
			Says: fmt.Sprintf("the group has committed %d, and the partition ends at %d: what comes next is skipped", part.Committed, part.End),
		})
	}
}

// expect notes which deliveries a committed record must have left.
func (a *audit) expect(r push.Record) {
	where := at3(r.Topic, r.Partition, r.Offset)
	deliveries, err := a.cfg.Expected(r)
	var poison *push.PoisonError
	switch {
	case errors.Is(err, push.ErrTombstone):
	case errors.As(err, &poison):
		if a.report.Poison++; !a.letters[where] {
			a.gap(Finding{Kind: KindNoLetter, Where: where, Says: "no event (" + poison.Reason + "), committed, and without a dead letter"})
		}
	case a.letters[where]: // PostgreSQL refused it for its own data
		a.report.Poison++
	default:
		for _, d := range deliveries {
			a.batch = append(a.batch, expected{d, where})
		}
	}
}

// lookAtRetries only counts: a retry message is a poke, and what it was about is in its row.
func (a *audit) lookAtRetries(ctx context.Context) error {
	parts, err := a.Source.Parts(ctx, a.cfg.RetryTopic, a.report.From, a.report.To)
	if err != nil {
		return err
	}
	for _, part := range parts {
		a.progress(part)
	}
	a.report.Partitions = append(a.report.Partitions, parts...)
	return nil
}

// lookForTwice asks the push log about itself.
func (a *audit) lookForTwice(ctx context.Context) error {
	twice, err := a.Ledger.Twice(ctx, a.report.From, a.report.To)
	if err != nil {
		return err
	}
	for _, t := range twice {
		f := Finding{Kind: KindTwice, Where: "row " + strconv.FormatInt(t.ID, 10), Key: t.Key(), Says: t.What}
		if t.Known {
			f.Says += ": a possible duplicate, by an operator's word or by policy"
			a.report.Notes = append(a.report.Notes, f)
			continue
		}
		a.gap(f)
	}
	strays, err := a.Ledger.Strays(ctx, a.report.From, a.report.To)
	for _, s := range strays {
		a.gap(Finding{
			Kind: KindStray, Where: "row " + strconv.FormatInt(s.DeliveryID, 10),
			Says: s.What + " of " + s.At.UTC().Format(time.DateTime) + " is there, and its row is not",
		})
	}
	return err
}

// at3 says where a record stood.
func at3(topic string, partition int, offset int64) string {
	return topic + "/" + strconv.Itoa(partition) + "@" + strconv.FormatInt(offset, 10)
}
