package store

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// newRows is a batch of intents with everything that a new row remembers.
const newRows = `unnest(@biz_type::text[], @rule_version::text[], @dedup_id::text[], @action::text[], @biz_id::text[],
	@owner::text[], @worker::text[], @lease::interval[], @provider::text[], @recipient::text[],
	@recipient_hash::bytea[], @recipient_full::text[], @user_id::text[], @event::text[], @event_id::text[],
	@trace_id::text[], @topic::text[], @partition::int4[], @offset::int8[], @record_time::timestamptz[],
	@window::interval[], @skip::text[], @not_before::timestamptz[], @expires_at::timestamptz[], @reference::text[])
	AS q(biz_type, rule_version, dedup_id, action, biz_id,
	owner, worker, lease, provider, recipient,
	recipient_hash, recipient_full, user_id, event, event_id,
	trace_id, topic, partition, offset_, record_time,
	"window", skip, not_before, expires_at, reference)`

// asked is a batch of intents as the statements see it that change and read rows: round and attempt are those of a
// retry message, null for a main message.
const asked = `unnest(@biz_type::text[], @rule_version::text[], @dedup_id::text[], @action::text[], @round::int4[],
	@attempt::int4[], @me::text[], @lease::interval[], @provider::text[], @worker::text[],
	@resend_within::interval[], @max_attempts::int4[], @capability::text[]) WITH ORDINALITY
	AS q(biz_type, rule_version, dedup_id, action, round,
	attempt, me, lease, provider, worker,
	resend_within, max_attempts, capability, ord)`

// factsOf are the arguments of openRows.
func factsOf(opening push.Status, intents []push.Intent) pgx.NamedArgs {
	text := func(pick func(push.Intent) string) []string { return column(intents, pick) }
	return pgx.NamedArgs{
		"opening":        string(opening),
		"biz_type":       text(func(in push.Intent) string { return in.Delivery.BizType }),
		"rule_version":   text(func(in push.Intent) string { return version(in.Delivery.Identity) }),
		"dedup_id":       text(func(in push.Intent) string { return in.Delivery.DedupID }),
		"action":         text(func(in push.Intent) string { return string(in.Delivery.Action) }),
		"biz_id":         text(func(in push.Intent) string { return in.Delivery.BizID }),
		"owner":          text(func(in push.Intent) string { return in.Owner }),
		"worker":         text(func(in push.Intent) string { return clean(in.Worker, maxLabel) }),
		"lease":          column(intents, func(in push.Intent) time.Duration { return in.Lease }),
		"provider":       text(func(in push.Intent) string { return clean(in.Provider, maxLabel) }),
		"recipient":      text(func(in push.Intent) string { return clean(in.Recipient, maxLabel) }),
		"recipient_hash": column(intents, func(in push.Intent) []byte { return in.RecipientHash }),
		"recipient_full": text(func(in push.Intent) string { return clean(in.RecipientFull, maxAddress) }),
		"user_id":        text(func(in push.Intent) string { return clean(in.Delivery.Event.Recipient.UserID, maxAddress) }),
		"event":          text(func(in push.Intent) string { return string(in.Delivery.Event.Raw) }),
		"event_id":       text(func(in push.Intent) string { return clean(in.Delivery.Event.EventID, maxLabel) }),
		"trace_id":       text(func(in push.Intent) string { return traceID(in.Delivery.Event.TraceParent) }),
		"topic":          text(func(in push.Intent) string { return in.Delivery.Origin.Topic }),
		"partition":      column(intents, func(in push.Intent) int { return in.Delivery.Origin.Partition }),
		"offset":         column(intents, func(in push.Intent) int64 { return in.Delivery.Origin.Offset }),
		"record_time":    column(intents, func(in push.Intent) time.Time { return in.Delivery.Origin.Time }),
		"window":         column(intents, func(in push.Intent) time.Duration { return in.Delivery.Window }),
		"skip":           text(func(in push.Intent) string { return clean(in.Delivery.Skip, maxErrorCode) }),
		"not_before":     column(intents, func(in push.Intent) *time.Time { return orNull(in.Delivery.Event.NotBefore) }),
		"expires_at":     column(intents, func(in push.Intent) *time.Time { return orNull(in.Delivery.Event.ExpiresAt) }),
		"reference":      text(reference),
	}
}

// reference is what the first round's attempts give the provider; an in-app message has no provider to give it to.
func reference(in push.Intent) string {
	if in.Delivery.Action.Capability() == push.Transactional {
		return ""
	}
	return in.Delivery.Reference(1)
}

// askedOf are the arguments of asked: which row, who asks, and by what rules it may be taken.
func askedOf(intents []push.Intent) pgx.NamedArgs {
	text := func(pick func(push.Intent) string) []string { return column(intents, pick) }
	retry := func(pick func(push.Retry) int) []*int {
		return column(intents, func(in push.Intent) *int {
			if in.Delivery.Retry == nil {
				return nil
			}
			n := pick(*in.Delivery.Retry)
			return &n
		})
	}
	return pgx.NamedArgs{
		"biz_type":      text(func(in push.Intent) string { return in.Delivery.BizType }),
		"rule_version":  text(func(in push.Intent) string { return version(in.Delivery.Identity) }),
		"dedup_id":      text(func(in push.Intent) string { return in.Delivery.DedupID }),
		"action":        text(func(in push.Intent) string { return string(in.Delivery.Action) }),
		"round":         retry(func(r push.Retry) int { return r.Round }),
		"attempt":       retry(func(r push.Retry) int { return r.Attempt }),
		"me":            text(func(in push.Intent) string { return in.Owner }),
		"lease":         column(intents, func(in push.Intent) time.Duration { return in.Lease }),
		"provider":      text(func(in push.Intent) string { return clean(in.Provider, maxLabel) }),
		"worker":        text(func(in push.Intent) string { return clean(in.Worker, maxLabel) }),
		"resend_within": column(intents, func(in push.Intent) time.Duration { return in.ResendWithin }),
		"max_attempts":  column(intents, func(in push.Intent) int { return in.MaxAttempts }),
		"capability":    text(func(in push.Intent) string { return capability(in.Delivery.Action) }),
	}
}

// version is the rule version as a row says it.
func version(id push.Identity) string {
	if id.RuleVersion == "" {
		return "v1"
	}
	return id.RuleVersion
}

// capability is the action's capability as statements name it.
func capability(a push.Action) string {
	switch a.Capability() {
	case push.Transactional:
		return "transactional"
	case push.Windowed:
		return "windowed"
	case push.Opaque:
		return "opaque"
	}
	return "opaque"
}

// traceID is the trace id of a W3C traceparent (version-traceid-parent-flags), empty when it has none.
func traceID(traceparent string) string {
	parts := strings.Split(traceparent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 {
		return ""
	}
	return clean(parts[1], 32)
}
