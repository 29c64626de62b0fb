package deliver

import "pusher/internal/push"

// Tracer shows what becomes of records, span by span.
type Tracer interface {
	// Record begins the span of a record, in the trace that its event names or in a new one, and names itself in the event:
	// what is logged, kept and passed on then belongs to that trace.
	Record(r push.Origin, event *push.Event) Span
	// Batch begins the span of one call at Redis or PostgreSQL for many deliveries, linked with the span of each.
	Batch(stage string, of []Span) Span
}

// Span is one piece of work that is being traced.
type Span interface {
	// Part begins a span inside this one.
	Part(stage string) Span
	// End ends it with what is to be said of it.
	End(f Facts)
}

// Facts are what a span says of its work: what is zero is left out. Nothing in them is personal.
type Facts struct {
	Delivery *push.Delivery // only its type, id, action
	Round    int
	Attempt  int
	Provider string
	Outcome  string // a verdict, a class or a status
	Code     string
	Err      error
}

// traced is a span, or nothing at all: then it costs a comparison.
type traced struct{ Span }

func (s traced) part(stage string) traced {
	if s.Span == nil {
		return s
	}
	return traced{s.Part(stage)}
}

func (s traced) end(f Facts) {
	if s.Span != nil {
		s.End(f)
	}
}

// traced begins the span of a record, where anybody looks.
func (d *Deliverer) traced(r push.Record, deliveries []*push.Delivery) traced {
	if d.cfg.Tracer == nil || len(deliveries) == 0 {
		return traced{}
	}
	return traced{d.cfg.Tracer.Record(r.Origin, deliveries[0].Event)} // all of them share the event
}

// batched begins the span of a batch, where any of its calls is traced.
func batched[Q, A any](t Tracer, stage string, batch []call[Q, A]) traced {
	if t == nil {
		return traced{}
	}
	var of []Span
	for _, c := range batch {
		if c.span.Span != nil {
			of = append(of, c.span.Span)
		}
	}
	if len(of) == 0 {
		return traced{}
	}
	return traced{t.Batch(stage, of)}
}

// said is what an answer of Redis or PostgreSQL says in its span.
func said(answer any) Facts {
	switch a := answer.(type) {
	case push.Grant:
		return Facts{Outcome: a.Verdict.String(), Attempt: a.Attempt, Err: a.Err}
	case push.KeyAnswer:
		return Facts{Err: a.Err}
	case push.Answer:
		return Facts{
			Round: a.Row.Round, Attempt: a.Row.Attempt, Provider: a.Row.Provider, Outcome: string(a.Row.Status), Err: a.Err,
		}
	}
	return Facts{}
}

// or gives the facts an error from outside.
func (f Facts) or(err error) Facts {
	if err != nil {
		f.Err = err
	}
	return f
}
