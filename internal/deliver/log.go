package deliver

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"pusher/internal/push"
)

// MarshalZerologObject puts the delivery's stable fields on a log line; no address is among them.
func (t *turn) MarshalZerologObject(e *zerolog.Event) {
	e.Str("biz_type", t.del.BizType).Str("biz_id", t.del.BizID).Str("action", string(t.del.Action)).
		Str("topic", t.del.Origin.Topic).Int("partition", t.del.Origin.Partition).Int64("offset", t.del.Origin.Offset)
	if id := t.del.Event.TraceID(); id != "" {
		e.Str("trace_id", id)
	}
}

// alike tells lines of the same message apart where the log keeps repeats back: by channel, provider and code.
type alike struct {
	context.Context

	action         push.Action
	provider, code string
}

// Alike is what the log asks for.
func (a alike) Alike() string { return string(a.action) + " " + a.provider + " " + a.code }

// like is the context of a line about the delivery.
func (t *turn) like(provider, code string) context.Context {
	return alike{context.Background(), t.del.Action, provider, code}
}

// duplicate notes a message discarded, by what, and what that said: the key's state, and the row where it was looked at.
func (t *turn) duplicate(by string, state push.KeyState, row push.Row) {
	t.facts = Facts{Delivery: t.del, Outcome: "duplicate", Code: by}
	t.d.cfg.Meter.Duplicate(t.del.Action, by)
	line := t.d.cfg.Log.Debug()
	if row.Exists() {
		line.Int("round", row.Round).Int("attempt", row.Attempt).Str("status", string(row.Status))
	}
	line.EmbedObject(t).Str("by", by).Stringer("key_state", state).Msg("duplicate discarded")
}

// decided notes what an attempt came to.
func (t *turn) decided(result push.Result, row push.Row) {
	if row.Owner != "" && row.Owner != t.owner {
		t.d.cfg.Meter.LeaseLost(t.del.Action)
	}
	level := zerolog.DebugLevel
	if result.Class != push.Accepted {
		level = zerolog.InfoLevel
	}
	t.d.cfg.Meter.Ended(t.del.Action, result)
	if t.d.alarms.due(result, t.del.BizType, t.d.cfg.Now()) {
		t.stopped(result)
	}
	t.d.cfg.Log.WithLevel(level).Ctx(t.like(result.Provider, result.Code)).EmbedObject(t).Int("round", row.Round).Int("attempt", result.Attempt).
		Str("provider", result.Provider).Stringer("class", result.Class).Str("code", result.Code).
		Str("status", string(row.Status)).Msg("attempt ended")
	if row.Status == push.Unknown && t.del.Action.Capability() == push.Opaque {
		t.d.cfg.Log.Info().Ctx(t.like(result.Provider, result.Code)).EmbedObject(t).Int("round", row.Round).Int("attempt", result.Attempt).
			Str("provider", result.Provider).Str("code", result.Code).Msg("held: it may have been sent, and nobody sends it again until that is known")
	}
}

// switched notes a refusal that the next provider follows on, of which the row now names it.
func (t *turn) switched(result push.Result, row push.Row) {
	t.d.cfg.Meter.Ended(t.del.Action, result)
	if t.d.alarms.due(result, t.del.BizType, t.d.cfg.Now()) {
		t.stopped(result)
	}
	t.d.cfg.Meter.Switched(t.del.Action, result.Provider, row.Provider)
	t.d.cfg.Log.Info().Ctx(t.like(result.Provider, result.Code)).EmbedObject(t).Int("round", row.Round).Int("attempt", result.Attempt).
		Str("provider", result.Provider).Stringer("class", result.Class).Str("code", result.Code).
		Str("next_provider", row.Provider).Msg("provider refused: going on with the next")
}

// stopped tells of an account or template that takes nothing until a person acts.
func (t *turn) stopped(r push.Result) {
	t.d.cfg.Log.Error().Ctx(t.like(r.Provider, r.Code)).EmbedObject(t).Str("provider", r.Provider).Str("code", r.Code).Str("scope", string(r.Scope)).
		Str("words", r.Message).Msg("stopped until somebody acts: what waits is kept and tried again by itself")
}

// tookOver notes an attempt taken over from an owner whose lease was over (rule I6).
func (t *turn) tookOver(row push.Row) {
	t.d.cfg.Meter.Takeover(t.del.Action)
	t.d.cfg.Log.Info().EmbedObject(t).Int("round", row.Round).Int("attempt", row.Attempt).
		Msg("taken over from an owner whose lease was over")
}

// gaveBack notes an intent undone before anything left.
func (t *turn) gaveBack(row push.Row) {
	t.d.cfg.Log.Info().EmbedObject(t).Int("round", row.Round).Int("attempt", row.Attempt).
		Str("status", string(row.Status)).Msg("attempt given back unsent")
}

// trouble notes a dependency's error; the loop around it goes on. What the end of the process cut off is no trouble.
func (t *turn) trouble(err error, doing string) {
	if err == nil || errors.Is(err, errOver) || errors.Is(err, context.Canceled) {
		return
	}
	t.d.cfg.Log.Warn().Ctx(t.like("", doing)).EmbedObject(t).Err(err).Str("doing", doing).Msg("dependency away, trying again")
}

// redisTurned tells once that Redis went away, and once that it is back.
func (cfg Config) redisTurned(away bool, err error) {
	if away {
		cfg.Log.Warn().Err(err).Msg("redis does not answer: the push log alone arbitrates until it does")
		return
	}
	cfg.Log.Info().Msg("redis answers again")
}

// refusal is the poison of a record that PostgreSQL refuses for its own data. PostgreSQL's words stay in the log's
// cause: they may quote the data.
func refusal() error {
	return &push.PoisonError{
		Reason: push.ReasonRefused,
		Detail: "the push log cannot hold the event's own data; look for the same offset in PostgreSQL's log",
	}
}
