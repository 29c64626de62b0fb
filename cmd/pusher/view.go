package main

import (
	"time"

	"pusher/internal/push"
)

// delivery is a row of the push log in JSON. Times that are not set are left out.
type delivery struct {
	ID                int64       `json:"id"`
	Key               string      `json:"key"`
	BizType           string      `json:"biz_type"`
	RuleVersion       string      `json:"rule_version"`
	DedupID           string      `json:"dedup_id"`
	Action            push.Action `json:"action"`
	Round             int         `json:"round"`
	BizID             string      `json:"biz_id"`
	Status            push.Status `json:"status"`
	Attempt           int         `json:"attempt"`
	RetriesUsed       int         `json:"retries_used"`
	Provider          string      `json:"provider,omitempty"`
	ProviderMsgID     string      `json:"provider_msg_id,omitempty"`
	ErrorCode         string      `json:"error_code,omitempty"`
	ErrorMessage      string      `json:"error_message,omitempty"`
	Hint              string      `json:"hint,omitempty"`
	UserID            string      `json:"user_id,omitempty"` // masked
	Recipient         string      `json:"recipient,omitempty"`
	EventID           string      `json:"event_id,omitempty"`
	TraceID           string      `json:"trace_id,omitempty"`
	PossibleDuplicate bool        `json:"possible_duplicate"`
	LetterDue         bool        `json:"letter_due"`
	Topic             string      `json:"topic"`
	Partition         int         `json:"partition"`
	Offset            int64       `json:"offset"`
	RecordTime        time.Time   `json:"record_time"`
	CreatedAt         time.Time   `json:"created_at"`
	UpdatedAt         time.Time   `json:"updated_at"`
	LeaseUntil        time.Time   `json:"lease_until,omitzero"`
	AmbiguousSince    time.Time   `json:"ambiguous_since,omitzero"`
	NextAttemptAt     time.Time   `json:"next_attempt_at,omitzero"`
	PublishedAt       time.Time   `json:"published_at,omitzero"`
	ExpiresAt         time.Time   `json:"expires_at,omitzero"`
	SettledAt         time.Time   `json:"settled_at,omitzero"`
	SentAt            time.Time   `json:"sent_at,omitzero"`
}

// viewOf makes the JSON of a row. The user id is masked here; the recipient is so in the row already.
func viewOf(e push.Entry) delivery {
	return delivery{
		ID: e.ID, Key: e.Key(), BizType: e.BizType, RuleVersion: e.RuleVersion, DedupID: e.DedupID, Action: e.Action,
		Round: e.Round, BizID: e.BizID, Status: e.Status, Attempt: e.Attempt, RetriesUsed: e.RetriesUsed,
		Provider: e.Provider, ProviderMsgID: e.ProviderMsgID, ErrorCode: e.ErrorCode, ErrorMessage: e.ErrorMessage, Hint: e.Hint,
		UserID: push.Mask(e.UserID), Recipient: e.Recipient, EventID: e.EventID, TraceID: e.TraceID,
		PossibleDuplicate: e.PossibleDuplicate, LetterDue: e.LetterDue, Topic: e.Origin.Topic,
		Partition: e.Origin.Partition, Offset: e.Origin.Offset, RecordTime: e.Origin.Time.UTC(), CreatedAt: e.CreatedAt.UTC(),
		UpdatedAt: e.UpdatedAt.UTC(), LeaseUntil: utc(e.LeaseUntil), AmbiguousSince: utc(e.AmbiguousSince),
		NextAttemptAt: utc(e.NextAttemptAt), PublishedAt: utc(e.PublishedAt), ExpiresAt: utc(e.ExpiresAt), SettledAt: utc(e.SettledAt), SentAt: utc(e.SentAt),
	}
}

// attempt is one turn of a delivery in JSON.
type attempt struct {
	Attempt       int       `json:"attempt"`
	Provider      string    `json:"provider,omitempty"`
	Outcome       string    `json:"outcome"`
	ProviderMsgID string    `json:"provider_msg_id,omitempty"`
	ErrorCode     string    `json:"error_code,omitempty"`
	ErrorMessage  string    `json:"error_message,omitempty"`
	StartedAt     time.Time `json:"started_at,omitzero"`
	FinishedAt    time.Time `json:"finished_at,omitzero"`
	Worker        string    `json:"worker,omitempty"`
	Current       bool      `json:"current"`
}

// attemptOf makes the JSON of an attempt. The owner is left out: it is of no use to anybody but the protocol.
func attemptOf(a push.Attempt) attempt {
	return attempt{
		Attempt: a.Attempt, Provider: a.Provider, Outcome: a.Outcome, ProviderMsgID: a.ProviderMsgID,
		ErrorCode: a.ErrorCode, ErrorMessage: a.ErrorMessage, StartedAt: utc(a.StartedAt), FinishedAt: utc(a.FinishedAt),
		Worker: a.Worker, Current: a.Current,
	}
}

// utc leaves a zero time zero.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
