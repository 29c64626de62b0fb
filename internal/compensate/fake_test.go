package compensate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"pusher/internal/push"
)

// log is a push log, a topic and a provider in memory: it plays back what each statement answers, batch by batch, and
// notes what was called.
type log struct {
	requeue, republish, stale, repeat, resend [][]push.Poke
	swept, ended                              [][]push.Decided
	questions                                 [][]push.Question
	letters                                   [][]push.Letter
	receipts                                  [][]push.Matched // one batch a call that looks at something
	dropped                                   []int
	hours                                     []int
	pruned, messages                          []int
	keep                                      time.Duration // as DropReceipts was told
	recent                                    [][]push.Identity
	reconciled                                []push.Tally
	held                                      int
	queued                                    map[push.Action]int
	due                                       push.Tally
	fail                                      map[string]error        // by method
	refuse                                    func(push.Record) error // what the broker says to a record
	onPublish                                 func()

	mu        sync.Mutex // guards what follows; questions are put by several goroutines
	calls     []string
	published []push.Record
	marked    []push.Poke
	hinted    []push.Hint // what was kept of questions
	results   []push.Result
	asking    int // questions out right now
	mostAsked int
}

// next takes the next batch of a script, or nothing.
func next[T any](l *log, call string, script *[]T) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call)
	var none T
	if err := l.fail[call]; err != nil {
		return none, err
	}
	if len(*script) == 0 {
		return none, nil
	}
	batch := (*script)[0]
	*script = (*script)[1:]
	return batch, nil
}

func (l *log) Queued(context.Context) (map[push.Action]int, error) { return l.queued, nil }

func (l *log) Requeue(context.Context, int, push.Policy, push.Action) ([]push.Poke, error) {
	return next(l, "requeue", &l.requeue)
}

func (l *log) Unpublished(context.Context, int, time.Duration) ([]push.Poke, error) {
	return next(l, "republish", &l.republish)
}

func (l *log) MarkPublished(_ context.Context, pokes []push.Poke) error {
	_, err := next(l, "mark", new([][]push.Poke))
	l.marked = append(l.marked, pokes...)
	return err
}

func (l *log) SweepStale(context.Context, int, push.Policy) ([]push.Poke, []push.Decided, error) {
	moved, err := next(l, "sweep", &l.swept)
	if err != nil || len(l.stale) == 0 {
		return nil, moved, err
	}
	pokes := l.stale[0]
	l.stale = l.stale[1:]
	return pokes, moved, nil
}

func (l *log) RepeatUnknown(context.Context, int, push.Policy) ([]push.Poke, error) {
	return next(l, "repeat", &l.repeat)
}

func (l *log) Questions(context.Context, int, push.Policy, []string) ([]push.Question, error) {
	return next(l, "questions", &l.questions)
}

func (l *log) Record(_ context.Context, results []push.Result) []push.Answer {
	_, err := next(l, "record", new([]push.Result))
	l.results = append(l.results, results...)
	answers := make([]push.Answer, len(results))
	for i, r := range results {
		answers[i] = push.Answer{Row: push.Row{ID: r.ID, Status: push.Sent}, Err: err}
	}
	return answers
}

func (l *log) Hint(_ context.Context, hints []push.Hint) error {
	_, err := next(l, "hint", new([]push.Hint))
	l.hinted = append(l.hinted, hints...)
	return err
}

func (l *log) Resend(context.Context, int, push.Policy, []string) ([]push.Poke, error) {
	return next(l, "resend", &l.resend)
}

func (l *log) Held(context.Context, push.Policy) (int, error) {
	_, err := next(l, "held", new([]int))
	return l.held, err
}

func (l *log) GiveUp(context.Context, int, push.Policy) ([]push.Decided, error) {
	return next(l, "giveup", &l.ended)
}

func (l *log) Letters(ctx context.Context, _ int, write WriteLetters) (int, error) {
	due, err := next(l, "letters", &l.letters)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	done, err := write(ctx, due)
	return len(chosen(due, done)), err
}

func (l *log) MatchReceipts(context.Context, int, []int64) ([]push.Matched, int, error) {
	looked := min(len(l.receipts), 1)
	matched, err := next(l, "receipts", &l.receipts)
	return matched, looked, err
}

func (l *log) DropReceipts(_ context.Context, _ int, keep time.Duration) (int, error) {
	l.keep = keep
	return next(l, "drop", &l.dropped)
}

func (l *log) CountHours(context.Context) (int, error) { return next(l, "hours", &l.hours) }

func (l *log) Prune(_ context.Context, after int64, _ int, _ time.Duration) (int, int64, error) {
	n, err := next(l, fmt.Sprintf("prune %d", after), &l.pruned)
	var more int64
	if len(l.pruned) > 0 {
		more = after + 500
	}
	return n, more, err
}

func (l *log) PruneInbox(context.Context, int, time.Duration) (int, error) {
	return next(l, "prune inbox", &l.messages)
}

func (l *log) Due(context.Context, push.Policy, []string, time.Duration) (push.Tally, error) {
	_, err := next(l, "due", new([]int))
	return l.due, err
}

func (l *log) Publish(ctx context.Context, records []push.Record) error {
	if l.onPublish != nil {
		l.onPublish()
	}
	if _, err := next(l, fmt.Sprintf("publish %d", len(records)), new([]int)); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, r := range records {
		if l.refuse != nil && l.refuse(r) != nil {
			return l.refuse(r)
		}
	}
	l.published = append(l.published, records...)
	return nil
}

func (l *log) Recent(context.Context, int, time.Duration, time.Duration) ([]push.Identity, error) {
	return next(l, "recent", &l.recent)
}

func (l *log) Look(_ context.Context, lookups []push.Lookup) []push.Answer {
	_, err := next(l, "look", new([]push.Row))
	answers := make([]push.Answer, len(lookups))
	for i := range answers {
		answers[i].Err = err
	}
	return answers
}

func (l *log) Reconcile(
	ctx context.Context, ids []push.Identity, _ func(push.Identity) time.Duration,
	look func(context.Context, []push.Lookup) []push.Answer,
) (push.Tally, error) {
	look(ctx, make([]push.Lookup, len(ids)))
	return next(l, "reconcile", &l.reconciled)
}

// asker answers questions by row id.
type asker struct {
	*log

	found map[int64]string
	hints map[int64]string
	err   map[int64]error
	wait  func()
}

func (a asker) Find(_ context.Context, q push.Question) (push.Finding, error) {
	a.mu.Lock()
	a.asking++
	a.mostAsked = max(a.mostAsked, a.asking)
	a.mu.Unlock()
	if a.wait != nil {
		a.wait()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking--
	id, found := a.found[q.ID]
	return push.Finding{Found: found, MessageID: id, Hint: a.hints[q.ID]}, a.err[q.ID]
}

// newPass makes a pass over l that has all the time it wants.
func newPass(l *log, askers map[string]Asker) *Pass {
	return New(Config{
		Policy:          push.Policy{MaxAttempts: 5, Lease: 30 * time.Second, SMS: push.Doubt{Timeout: time.Second}},
		RetryTopic:      "retry",
		DeadLetterTopic: "dlq",
		Batch:           500,
		Budget:          time.Hour,
		KeepUnmatched:   time.Hour,
		Call:            time.Minute,
		Now:             time.Now,
	}, Ports{Queue: l, Sweeper: l, Unknowns: l, Hints: l, Ender: l, Letterbox: l, Forecast: l, Receipts: l, Memory: l, Hours: l, Pruner: l, Keys: l, Publisher: l, Askers: askers})
}

// pokes makes n pokes, the first of row from.
func pokes(from, n int) []push.Poke {
	list := make([]push.Poke, n)
	for i := range list {
		list[i] = push.Poke{
			Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: strconv.Itoa(from + i), Action: push.SMS},
			ID:       int64(from + i), BizID: strconv.Itoa(from + i), Round: 1, Attempt: 2, Event: []byte(`{"biz_type":"resume_viewed"}`),
		}
	}
	return list
}

// decided makes rows of these statuses; a status with a code is written "dead unknown_expired".
func decided(words ...string) []push.Decided {
	list := make([]push.Decided, len(words))
	for i, word := range words {
		status, code, _ := strings.Cut(word, " ")
		list[i] = push.Decided{
			Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: strconv.Itoa(i), Action: push.SMS},
			ID:       int64(i), BizID: strconv.Itoa(i), Round: 1, Attempt: 1, Status: push.Status(status), Code: code,
		}
	}
	return list
}
