package deliver

import (
	"slices"
	"time"

	"pusher/internal/push"
)

// versionDefault is the rule version of a push that names none.
const versionDefault = "v1"

// plan turns a record into its deliveries: one for a retry message, one an action for a main message.
func (d *Deliverer) plan(r push.Record) ([]*push.Delivery, error) {
	event, err := push.Decode(r)
	if err != nil {
		return nil, err
	}
	if r.Topic == d.cfg.RetryTopic {
		if asked, ok := r.Retry(); ok {
			return d.planRetry(r, event, asked)
		}
	}
	p, known := d.cfg.Pushes[event.BizType]
	if !known {
		return nil, unknownBizType()
	}
	return d.planMain(r, event, p)
}

// planMain plans each wanted action. One that is no channel, or not configured for the push, ends as skipped and
// leaves the others alone.
func (d *Deliverer) planMain(r push.Record, event *push.Event, p Push) ([]*push.Delivery, error) {
	dedupID, err := p.Rule.DedupID(event, r.Time)
	if err != nil {
		return nil, err
	}
	wanted := event.Actions
	if len(wanted) == 0 {
		wanted = p.Actions
	}
	deliveries := make([]*push.Delivery, 0, len(wanted))
	for _, action := range wanted {
		del := d.delivery(r, event, push.Identity{
			BizType: event.BizType, RuleVersion: version(p.Rule.Version), DedupID: dedupID, Action: action,
		}, p.Rule.Window)
		switch {
		case !action.Known():
			del.Skip = "unknown_action"
		case !slices.Contains(p.Actions, action):
			del.Skip = "action_not_configured"
		}
		deliveries = append(deliveries, del)
	}
	return deliveries, nil
}

// planRetry plans the one delivery of a retry message. It names the delivery by the headers that the compensator
// wrote, so that a rule changed in between orphans no row; what is sent comes from the row.
func (d *Deliverer) planRetry(r push.Record, event *push.Event, asked push.Asked) ([]*push.Delivery, error) {
	id := push.Identity{
		BizType: event.BizType, RuleVersion: asked.RuleVersion, DedupID: asked.DedupID, Action: asked.Action,
	}
	p, known := d.cfg.Pushes[event.BizType]
	window := d.cfg.Window
	if known {
		window = p.Rule.Window
	}
	if id.DedupID == "" {
		if !known {
			return nil, unknownBizType()
		}
		dedupID, err := p.Rule.DedupID(event, r.Time)
		if err != nil {
			return nil, err
		}
		id.DedupID, id.RuleVersion = dedupID, version(p.Rule.Version)
	}
	del := d.delivery(r, event, id, window)
	del.Retry = &asked.Retry
	return []*push.Delivery{del}, nil
}

func unknownBizType() error {
	return &push.PoisonError{
		Reason: push.ReasonUnknownBizType, Field: "biz_type",
		Detail: "no push of this name is configured: add it under pushes, or correct the producer",
	}
}

func (d *Deliverer) delivery(r push.Record, event *push.Event, id push.Identity, window time.Duration) *push.Delivery {
	return &push.Delivery{Identity: id, BizID: event.BizID, Event: event, Origin: r.Origin, Window: window}
}

func version(v string) string {
	if v == "" {
		return versionDefault
	}
	return v
}

// Expected are the deliveries that a record asks for by these pushes, as Handle would plan them; the error is Handle's.
// An audit compares them with the rows.
func Expected(pushes map[string]Push, retryTopic string, window time.Duration, r push.Record) ([]*push.Delivery, error) {
	return (&Deliverer{cfg: Config{Pushes: pushes, RetryTopic: retryTopic, Window: window}}).plan(r)
}
