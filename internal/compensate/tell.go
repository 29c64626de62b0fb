package compensate

import (
	"github.com/rs/zerolog"

	"pusher/internal/push"
)

// about puts on a line which delivery it is of, by the names that the pusher's log uses. No address is among them.
func about(line *zerolog.Event, id push.Identity, delivery int64, round, attempt int) *zerolog.Event {
	return line.Int64("delivery", delivery).Str("biz_type", id.BizType).Str("action", string(id.Action)).Int("round", round).Int("attempt", attempt)
}

// row puts a row that was moved on a line.
func row(line *zerolog.Event, m push.Decided) *zerolog.Event {
	about(line, m.Identity, m.ID, m.Round, m.Attempt).Str("biz_id", m.BizID).Str("status", string(m.Status))
	for _, field := range [][2]string{{"provider", m.Provider}, {"code", m.Code}, {"trace_id", m.TraceID}} {
		if field[1] != "" {
			line.Str(field[0], field[1])
		}
	}
	return line
}

// swept tells of sends that their owners left behind, and counts them.
func (t *turn) swept(queued []push.Poke, rest []push.Decided) push.Tally {
	const taken = "taken over from an owner whose lease was over"
	n := push.Tally{SweptQueued: len(queued)}
	for _, p := range queued {
		about(t.Log.Info(), p.Identity, p.ID, p.Round, p.Attempt).Str("biz_id", p.BizID).Str("status", string(push.Queued)).Msg(taken)
	}
	for _, m := range rest {
		if m.Status == push.Unknown {
			n.SweptUnknown++
			row(t.Log.Info(), m).Msg("held: it may have been sent, and nobody sends it again until that is known")
			continue
		}
		n.SweptDead++
		row(t.Log.Info(), m).Msg(taken)
	}
	return n
}

// gaveUp tells of what is over, and counts it.
func (t *turn) gaveUp(list []push.Decided) push.Tally {
	var n push.Tally
	for _, m := range list {
		switch {
		case m.Status == push.Unknown:
			n.Doubted++
		case m.Status == push.Expired:
			n.Expired++
		case m.Code == push.CodeUnknownExpired:
			n.UnknownExpired++
		default:
			n.Dead++
		}
		row(t.Log.Info(), m).Msg("given up")
	}
	return n
}

// resent tells of what policy sends again although it may have been sent.
func (t *turn) resent(pokes []push.Poke) {
	for _, p := range pokes {
		about(t.Log.Warn(), p.Identity, p.ID, p.Round, p.Attempt).Str("biz_id", p.BizID).Msg("sent again although it may have been sent: when_unknown is resend")
	}
}

// found tells of an unknown send of which its provider says that it took it.
func (t *turn) found(q push.Question, now push.Row) {
	about(t.Log.Info(), q.Identity, q.ID, q.Round, q.Attempt).Str("provider", q.Provider).Str("status", string(now.Status)).
		Msg("resolved: the provider says that it took it")
}
