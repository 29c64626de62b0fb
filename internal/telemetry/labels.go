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
)

// values lists the known values of a label.
func (l label) values() []string {
	switch l {
	case outcomes:
		return []string{OutcomeDone, OutcomePoison, OutcomeTombstone}
	case providers:
		return []string{"inbox", "aliyun", "tencent", "wechat"}
	case stoppers:
		return []string{"redis", "row", "in_flight"}
	case reasons:
		return []string{
			push.ReasonTooLarge, push.ReasonNotUTF8, push.ReasonNotJSON, push.ReasonNotObject, push.ReasonTooDeep,
			push.ReasonMissingField, push.ReasonWrongType, push.ReasonWrongValue, push.ReasonBadText,
			push.ReasonBadCloudEvent, push.ReasonUnknownBizType, push.ReasonRefused, push.ReasonDead,
		}
	case kinds:
		return []string{
			"joined", "left", "topics", "group", "fetch", "commit", "poison", "dead_letter", "handler", "panic", "undrained",
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
