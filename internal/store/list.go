package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// ErrNotFound is the answer to a delivery that is not in the push log.
var ErrNotFound = errors.New("no such delivery in the push log")

// Entry is one delivery as operators see it; nothing in it is personal but UserID and the masked Recipient.
type Entry struct {
	push.Identity

	ID                int64  // push_log.id: names the delivery for Show
	Round             int    // from 1
	BizID             string // the event's own, for people
	Status            push.Status
	Attempt           int         // the number of the current attempt; 0 before the first
	RetriesUsed       int         // what counts against retry.max_attempts
	Provider          string      // of the current attempt; empty while none was named
	ProviderMsgID     string      // empty unless the provider gave one
	ErrorCode         string      // of the last attempt, or the reason of skipped, expired, dead
	ErrorMessage      string      // the provider's words
	UserID            string      // whole: our own id, not an address
	Recipient         string      // masked
	EventID           string      // as the producer gave it
	TraceID           string      // 32 hex digits, or empty
	PossibleDuplicate bool        // sent again by policy although an earlier attempt may have been accepted
	LetterDue         bool        // a dead letter is still to be written
	Origin            push.Origin // the record that made the row

	CreatedAt      time.Time
	UpdatedAt      time.Time
	LeaseUntil     time.Time // zero unless sending
	AmbiguousSince time.Time // zero when no attempt is in doubt
	NextAttemptAt  time.Time // zero unless failed or deferred
	ExpiresAt      time.Time // zero when the event has none
	SettledAt      time.Time // zero while not settled
	SentAt         time.Time // zero unless accepted
}

// Filter says which deliveries to list; a zero field does not restrict.
type Filter struct {
	push.Identity // any of its fields

	BizID         string
	UserID        string
	RecipientHash []byte        // the keyed hash, as rows have it
	Statuses      []push.Status // any of these
	Since         time.Time     // created at or after
	Before        int64         // ids below this one: the last id of the page before
	Limit         int           // 0 means 50
}

const (
	defaultLimit = 50 // a screenful

	// entryColumns is what scanEntry reads of push_log l.
	entryColumns = `l.id, l.biz_type, l.rule_version, l.dedup_id, l.action, l.round, l.biz_id, l.status, l.attempt,
	l.retries_used, coalesce(l.provider, ''), coalesce(l.provider_msg_id, ''), coalesce(l.error_code, ''),
	coalesce(l.error_message, ''), coalesce(l.user_id, ''), coalesce(l.recipient, ''), coalesce(l.event_id, ''),
	coalesce(l.trace_id, ''), l.possible_duplicate, l.letter_due, l.topic, l.partition, l.offset_, l.record_time,
	l.created_at, l.updated_at, l.lease_until, l.ambiguous_since, l.next_attempt_at, l.expires_at, l.settled_at, l.sent_at`
)

// restrictions are the conditions that f asks for, and their arguments.
func (f Filter) restrictions() (where string, args pgx.NamedArgs) {
	where, args = "true", pgx.NamedArgs{}
	add := func(asked bool, condition, name string, value any) {
		if asked {
			where += " AND " + condition
			args[name] = value
		}
	}
	statuses := column(f.Statuses, func(s push.Status) string { return string(s) })
	add(f.BizType != "", "l.biz_type = @biz_type", "biz_type", f.BizType)
	add(f.RuleVersion != "", "l.rule_version = @rule_version", "rule_version", f.RuleVersion)
	add(f.DedupID != "", "l.dedup_id = @dedup_id", "dedup_id", f.DedupID)
	add(f.Action != "", "l.action = @action", "action", string(f.Action))
	add(f.BizID != "", "l.biz_id = @biz_id", "biz_id", f.BizID)
	add(f.UserID != "", "l.user_id = @user_id", "user_id", f.UserID)
	add(f.RecipientHash != nil, "l.recipient_hash = @recipient_hash", "recipient_hash", f.RecipientHash)
	add(len(statuses) > 0, "l.status = ANY (@statuses)", "statuses", statuses)
	add(!f.Since.IsZero(), "l.created_at >= @since", "since", f.Since)
	add(f.Before > 0, "l.id < @before", "before", f.Before)
	return where, args
}

// List returns deliveries, newest first.
func (s *Store) List(ctx context.Context, f Filter) ([]Entry, error) {
	where, args := f.restrictions()
	args["limit"] = f.Limit
	if f.Limit <= 0 {
		args["limit"] = defaultLimit
	}
	rows, err := s.pool.Query(ctx, `SELECT `+entryColumns+` FROM push_log l WHERE `+where+
		` ORDER BY l.id DESC LIMIT @limit`, args)
	if err != nil {
		return nil, fmt.Errorf("listing the push log: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanEntry)
	if err != nil {
		return nil, fmt.Errorf("listing the push log: %w", err)
	}
	return list, nil
}

// scanEntry reads entryColumns.
func scanEntry(rec pgx.CollectableRow) (Entry, error) {
	var e Entry
	var lease, doubt, next, expires, settled, sent *time.Time
	err := rec.Scan(&e.ID, &e.BizType, &e.RuleVersion, &e.DedupID, &e.Action, &e.Round, &e.BizID, &e.Status, &e.Attempt,
		&e.RetriesUsed, &e.Provider, &e.ProviderMsgID, &e.ErrorCode, &e.ErrorMessage, &e.UserID, &e.Recipient, &e.EventID,
		&e.TraceID, &e.PossibleDuplicate, &e.LetterDue, &e.Origin.Topic, &e.Origin.Partition, &e.Origin.Offset,
		&e.Origin.Time, &e.CreatedAt, &e.UpdatedAt, &lease, &doubt, &next, &expires, &settled, &sent)
	e.LeaseUntil, e.AmbiguousSince, e.NextAttemptAt = timeOf(lease), timeOf(doubt), timeOf(next)
	e.ExpiresAt, e.SettledAt, e.SentAt = timeOf(expires), timeOf(settled), timeOf(sent)
	return e, err
}
