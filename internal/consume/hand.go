package consume

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/segmentio/kafka-go"

	"pusher/internal/fault"
	"pusher/internal/push"
)

// reasonPanic is the push-reason of a record whose handling panicked.
const reasonPanic = "panic"

// hand gives one record to the handler and does with it what the answer says.
func (p *partition) hand(handing, work context.Context, m kafka.Message) {
	p.c.counts.records.Add(1)
	if isMarker(m) {
		p.mark.done(m.Offset)
		return
	}
	r := record(m)
	p.judge(handing, work, r, p.call(handing, work, r))
}

// call calls the handler. A panic ends this record, as poison, and nothing else.
func (p *partition) call(handing, work context.Context, r push.Record) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p.tell(KindPanic, r.Offset, fmt.Errorf("handling a record panicked: %s\n%s", what(v), debug.Stack()))
			err = &push.PoisonError{Reason: reasonPanic, Detail: "handling the record panicked; the log has the stack"}
		}
	}()
	h := &handed{p: p, handing: handing, work: work, r: r}
	return p.c.handler.Handle(handing, r, h.done)
}

// handed is a record that the handler has, for the one word that it says of it in the end.
type handed struct {
	p             *partition
	handing, work context.Context //nolint:containedctx // of the generation: the word comes from any goroutine
	r             push.Record
	said          atomic.Bool
}

func (h *handed) done(err error) {
	if h.said.Swap(true) {
		return
	}
	if err == nil {
		err = fault.At(fault.BeforeDone)
	}
	if err == nil {
		h.p.mark.done(h.r.Offset)
		return
	}
	h.p.judge(h.handing, h.work, h.r, err)
}

// judge acts on what the handler said of r. A record that nobody took stays undone: it is handed again, or comes again
// in the next generation.
func (p *partition) judge(handing, work context.Context, r push.Record, err error) {
	if err == nil {
		return
	}
	var poison *push.PoisonError
	switch {
	case errors.Is(err, push.ErrTombstone):
		p.c.counts.tombstones.Add(1)
		p.mark.done(r.Offset)
	case errors.As(err, &poison):
		p.tell(KindPoison, r.Offset, poison)
		p.park(work, func() { p.bury(work, r, poison.Reason) })
	case handing.Err() != nil:
		p.mark.giveBack(r.Offset)
	default:
		p.tell(KindHandler, r.Offset, err)
		p.park(work, func() { p.again(handing, work, r) })
	}
}

// again hands r again and again, with growing waits, until the handler has another answer than a passing error.
func (p *partition) again(handing, work context.Context, r push.Record) {
	wait := p.backoff()
	for {
		if !pause(handing, wait.NextBackOff()) {
			p.mark.giveBack(r.Offset)
			return
		}
		p.c.counts.handedAgain.Add(1)
		err := p.call(handing, work, r)
		var poison *push.PoisonError
		if err == nil || errors.As(err, &poison) || errors.Is(err, push.ErrTombstone) {
			p.judge(handing, work, r, err)
			return
		}
		if handing.Err() == nil {
			p.tell(KindHandler, r.Offset, err)
		}
	}
}

// bury writes r's dead letter, however often it takes; only then is r done.
func (p *partition) bury(work context.Context, r push.Record, reason string) {
	wait := p.backoff()
	for {
		try, cancel := context.WithTimeout(work, 2*writeWait)
		err := p.letter(try, r, reason)
		cancel()
		if err == nil {
			p.c.counts.poison(reason)
			p.mark.done(r.Offset)
			return
		}
		if work.Err() != nil {
			return
		}
		p.c.counts.lettersFailed.Add(1)
		p.tell(KindDeadLetter, r.Offset, fmt.Errorf("writing a dead letter to %s: %w", p.c.cfg.DeadLetterTopic, err))
		pause(work, wait.NextBackOff())
	}
}

// letter writes the dead letter of r once.
func (p *partition) letter(ctx context.Context, r push.Record, reason string) error {
	if err := fault.At(fault.BeforePoison); err != nil {
		return err
	}
	if err := writeLetter(ctx, p.c.letters, p.c.cfg.DeadLetterTopic, r, reason); err != nil {
		return err
	}
	return fault.At(fault.AfterPoison)
}

// what says what a panic was about. Only the runtime's own words are free of the record's values.
func what(v any) string {
	if e, ok := v.(runtime.Error); ok {
		return e.Error()
	}
	return fmt.Sprintf("a value of type %T", v)
}
