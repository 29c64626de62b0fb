package telemetry

import (
	"slices"

	"pusher/internal/push"
)

// other stands for every label value that is not known here.
const other = "other"

// The outcomes of a record.
const (
	OutcomeDone      = "done"      // each of its deliveries is taken care of
	OutcomePoison    = "poison"    // went to the dead-letter topic
	OutcomeTombstone = "tombstone" // had no value
)

// The stages at which deliveries are held, for Metrics.WatchHeld.
const (
	StageAdmitted = "admitted" // all that the process holds
	StageSending  = "sending"  // requests out at providers
)

// label is a set of known label values.
type label int

const (
	outcomes label = iota
	providers
	stoppers
	reasons
	kinds
	receiptOutcomes
	reports
	effects
	carrierCodes
	carrierFamilies
	classes
	ourCodes
	scopes
	routes
	arrivals
	guards
	guardOutcomes
)

// values lists the known values of a label.
func (l label) values() []string {
	switch l {
	case outcomes:
		return []string{OutcomeDone, OutcomePoison, OutcomeTombstone}
	case providers:
		return []string{"inbox", "aliyun", "tencent", "wechat"}
	case stoppers:
		return []string{"redis", "row"}
	case reasons:
		return []string{
			push.ReasonTooLarge, push.ReasonNotUTF8, push.ReasonNotJSON, push.ReasonNotObject, push.ReasonTooDeep,
			push.ReasonMissingField, push.ReasonWrongType, push.ReasonWrongValue, push.ReasonBadText,
			push.ReasonBadCloudEvent, push.ReasonUnknownBizType, push.ReasonRefused, push.ReasonDead,
		}
	case kinds:
		return []string{
			"joined", "left", "topics", "group", "fetch", "lost", "commit", "poison", "dead_letter", "handler", "panic", "undrained",
		}
	case receiptOutcomes:
		return []string{"new", "repeated", "unreadable", "unmatched", "refused", "lost"}
	case reports:
		return []string{string(push.ReportDelivered), string(push.ReportUndelivered)}
	case effects:
		return []string{string(push.EffectSettled), string(push.EffectLate), string(push.EffectOther)}
	case carrierCodes:
		return []string{
			"UNDELIV", "REJECTD", "EXPIRED", "DELETED", "UNKNOWN", "ACCEPTD", "NOROUTE", // SMPP's
			"MOBILE_SEND_LIMIT", "MOBILE_NOT_ON_SERVICE", "MOBILE_IN_BLACK", "MOBILE_ACCOUNT_ABNORMAL", "MOBILE_TERMINAL_ERROR",
			"MOBILE_TERMINAL_STOPPED", "SIGNATURE_BLACKLIST", "CONTENT_KEYWORD", "CONTENT_ERROR", "FREQUENCY_LIMIT",
			"IS_CLOSED", "SP_UNKNOWN_ERROR", "SP_NOT_BY_SMS", "REQUEST_SUCCESS", // Aliyun's
			"user_block", "system_failed", "freq_limit", // WeChat's
		}
	case routes:
		return []string{RouteEvents, RouteTokens, RoutePages}
	case arrivals:
		return []string{"accepted", "repeated", "invalid", "busy", "limited", "unwritten", "unknown"}
	case guards:
		return []string{"key", "token", "fingerprint"}
	case guardOutcomes:
		return []string{
			"done", "refused", "given_back", "unknown", "repeated", "in_progress", "mismatch", "spent", "lost", "unsettled", "unguarded",
		}
	case carrierFamilies: // of numbered codes, by carrier and gateway
		return []string{"MK", "MI", "MN", "MB", "MC", "MH", "MX", "MA", "DB", "ID", "IA", "IB", "IC", "CA", "CB", "CJ", "HD", "LT", "SME", "XL", "ET", "GG"}
	}
	return ours(l)
}

// ours lists the values of labels that are this program's own words.
func ours(l label) []string {
	switch l {
	case classes:
		return []string{
			push.Accepted.String(), push.NotSent.String(), push.Throttled.String(), push.Permanent.String(),
			push.Account.String(), push.Ambiguous.String(),
		}
	case scopes: // of what can be stopped
		return []string{string(push.ScopeAccount), string(push.ScopeChannel), string(push.ScopeTemplate)}
	case ourCodes: // of attempts to which no provider gave a code
		return []string{
			"timeout", "canceled", "dns", "dial", "tls", "connection_lost", "answer_too_large", "answer_without_code", "request",
			"template_value_empty", "template_value_too_long", "template_value_format", "template_value_url",
			"template_variable_missing", "template_panic", "template_failed", "template_not_configured", "wait",
			"channel_busy", "breaker_open", "rate_wait", "in_flight_wait", "action_not_configured", "event_unreadable", "panic", "unclassified", "fault",
		}
	}
	return nil
}

// oneOf keeps a label bounded; empty becomes "none".
func oneOf(l label, value string) string {
	switch {
	case value == "":
		return "none"
	case slices.Contains(l.values(), value):
		return value
	}
	return other
}

// action keeps the label bounded: an event may name any action, and is then skipped.
func action(a push.Action) string {
	if a.Known() {
		return string(a)
	}
	return other
}

// status keeps the label bounded.
func status(s push.Status) string {
	if slices.Contains(push.Statuses(), s) {
		return string(s)
	}
	return other
}
