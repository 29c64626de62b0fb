package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

const (
	defaultLimit = 50 // a screenful

	// reach bounds how many rows one call looks at for conditions that no index serves: an answer always comes soon,
	// and says from where to go on. So many take some 20 ms where they are in memory.
	reach = 20_000

	// standing is how much later than its id was given a row may have been written: a statement's time, and room.
	standing = 2 * time.Minute

	// entryColumns is what scanEntry reads of push_log l.
	entryColumns = `l.id, l.biz_type, l.rule_version, l.dedup_id, l.action, l.round, l.biz_id, l.status, l.attempt,
	l.retries_used, coalesce(l.provider, ''), coalesce(l.provider_msg_id, ''), coalesce(l.error_code, ''),
	coalesce(l.error_message, ''), coalesce(l.hint, ''), coalesce(l.user_id, ''), coalesce(l.recipient, ''), l.recipient_full IS NOT NULL,
	coalesce(l.event_id, ''), coalesce(l.trace_id, ''), l.possible_duplicate, l.letter_due, l.topic, l.partition,
	l.offset_, l.record_time, l.created_at, l.updated_at, l.lease_until, l.ambiguous_since, l.next_attempt_at,
	l.published_at, l.expires_at, l.settled_at, l.sent_at`

	// overtaken is whether a later round of the delivery exists: then the row is history (rule O1).
	overtaken = `EXISTS (SELECT FROM push_log r WHERE r.biz_type = l.biz_type AND r.rule_version = l.rule_version
		AND r.dedup_id = l.dedup_id AND r.action = l.action AND r.round > l.round)`
)

// List returns deliveries, newest first, at most limit (0 means 50) and only row ids below before (0 means all).
// Page.Next goes on from there: a page may hold fewer than limit, even none, although older ones exist, since a call
// looks at a bounded number of rows.
func (s *Store) List(ctx context.Context, f push.Filter, before int64, limit int) (push.Page, error) {
	list, next, err := page(ctx, s, f, before, limit, entryColumns, scanEntry)
	if err != nil {
		return push.Page{}, fmt.Errorf("listing the push log: %w", err)
	}
	return push.Page{Entries: list, Next: next}, nil
}

// Candidates is List for an operator's deed: with what decides whether a row may be moved.
func (s *Store) Candidates(ctx context.Context, f push.Filter, before int64, limit int) ([]push.Candidate, int64, error) {
	list, next, err := page(ctx, s, f, before, limit, entryColumns+`, `+overtaken, scanCandidate)
	if err != nil {
		return nil, 0, fmt.Errorf("looking for candidates: %w", err)
	}
	return list, next, nil
}

// page reads columns of the rows that f asks for.
func page[T any](ctx context.Context, s *Store, f push.Filter, before int64, limit int, columns string,
	scan func(pgx.CollectableRow) (T, error)) (list []T, next int64, err error) {
	if limit <= 0 {
		limit = defaultLimit
	}
	below := before > 0
	floor, before, err := s.bounds(ctx, f, before)
	if err != nil || before <= floor {
		return nil, 0, err
	}
	bottom, stepwise := floor, !indexed(f)
	if stepwise {
		bottom = max(floor, before-reach)
	}
	where, args := restrictions(f)
	args["before"], args["bottom"], args["limit"] = before, bottom, limit
	where += span(stepwise || below || !f.To.IsZero(), stepwise || !f.From.IsZero())
	var last int64
	rows, err := s.pool.Query(ctx, `SELECT `+columns+`, l.id FROM `+newest(where, f.Statuses)+` l ORDER BY l.id DESC LIMIT @limit`, args)
	if err != nil {
		return nil, 0, err
	}
	list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) { return scan(tail{row, &last}) })
	switch {
	case err != nil:
		return nil, 0, err
	case len(list) == limit:
		return list, last, nil
	case bottom > floor:
		return list, bottom, nil
	}
	return list, 0, nil
}

// span bounds the row ids, where they need it: a span between two ids that it does not know yet PostgreSQL takes for half
// a percent of the table, and would rather read that than look the rows up by what is asked for.
func span(top, floor bool) (where string) {
	if top {
		where = " AND l.id < @before"
	}
	if floor {
		where += " AND l.id >= @bottom"
	}
	return where
}

// newest are the rows of push_log that a page is cut from. Of several statuses each gives a page's worth by itself, newest
// first, as the index of statuses has them: together they would be read whole and sorted.
func newest(where string, statuses []push.Status) string {
	each := func(condition string) string {
		return `(SELECT * FROM push_log l WHERE ` + where + condition + ` ORDER BY l.id DESC LIMIT @limit)`
	}
	if len(statuses) == 0 {
		return each("")
	}
	statuses = slices.Compact(slices.Sorted(slices.Values(statuses)))
	parts := column(statuses, func(s push.Status) string { return each(` AND l.status = ` + statusText(s)) })
	return `(` + strings.Join(parts, ` UNION ALL `) + `)`
}

// tail reads one column more than its user asks for: the row's id.
type tail struct {
	pgx.CollectableRow

	id *int64
}

// Scan reads the columns and the id.
func (t tail) Scan(targets ...any) error { return t.CollectableRow.Scan(append(targets, t.id)...) }

// bounds are the row ids among which f's rows are: floor <= id < top.
func (s *Store) bounds(ctx context.Context, f push.Filter, before int64) (floor, top int64, err error) {
	from, to := orNull(f.From), orNull(f.To)
	err = s.pool.QueryRow(ctx, `SELECT
	CASE WHEN @from::timestamptz IS NULL THEN coalesce((SELECT min(id) FROM push_log), 1)
		ELSE push_log_id_at(@from::timestamptz - @standing::interval) END,
	CASE WHEN @to::timestamptz IS NULL THEN coalesce((SELECT max(id) + 1 FROM push_log), 1)
		ELSE push_log_id_at(@to::timestamptz + @standing::interval) END`,
		pgx.NamedArgs{"from": from, "to": to, "standing": standing}).Scan(&floor, &top)
	if before > 0 {
		top = min(top, before)
	}
	return floor, top, err
}

// indexed reports whether an index finds f's rows, or all rows are f's: then one call looks at them all.
func indexed(f push.Filter) bool {
	return len(f.IDs) > 0 || f.DedupID != "" || f.BizID != "" || f.UserID != "" || f.RecipientHash != nil ||
		f.ErrorCode != "" || len(f.Statuses) > 0 && !slices.Contains(f.Statuses, push.Sent) &&
		!slices.Contains(f.Statuses, push.Delivered)
}

// What operators look deliveries up by, each part of it by an index: those leave out what is on its way, which is in
// push_log_sending, and ids that are the dedup id, too, which begins push_log_delivery.
const (
	byUserID        = `(l.user_id = @user_id AND l.status <> 'sending' OR l.status = 'sending' AND l.user_id = @user_id)`
	byRecipientHash = `(l.recipient_hash = @recipient_hash AND l.status <> 'sending'
		OR l.status = 'sending' AND l.recipient_hash = @recipient_hash)`
	byBizID = `(l.biz_id = @biz_id AND l.biz_id <> l.dedup_id AND l.status <> 'sending'
		OR l.dedup_id = @biz_id AND l.biz_id = @biz_id OR l.status = 'sending' AND l.biz_id = @biz_id)`
)

// restrictions are the conditions that f asks for, but for its statuses, and their arguments. A status stands in the text, since a partial
// index must be seen to hold it before any argument is known; it is one of push.Statuses, or matches nothing.
func restrictions(f push.Filter) (where string, args pgx.NamedArgs) {
	where, args = "true", pgx.NamedArgs{}
	add := func(asked bool, condition, name string, value any) {
		if asked {
			where += " AND " + condition
			args[name] = value
		}
	}
	add(len(f.IDs) > 0, "l.id = ANY (@ids)", "ids", f.IDs)
	add(f.BizType != "", "l.biz_type = @biz_type", "biz_type", f.BizType)
	add(f.RuleVersion != "", "l.rule_version = @rule_version", "rule_version", f.RuleVersion)
	add(f.DedupID != "", "l.dedup_id = @dedup_id", "dedup_id", f.DedupID)
	add(f.Action != "", "l.action = @action", "action", string(f.Action))
	add(f.BizID != "", byBizID, "biz_id", f.BizID)
	add(f.UserID != "", byUserID, "user_id", f.UserID)
	add(f.RecipientHash != nil, byRecipientHash, "recipient_hash", f.RecipientHash)
	add(f.Recipient != "", "l.recipient = @recipient", "recipient", f.Recipient)
	add(f.Provider != "", "l.provider = @provider", "provider", f.Provider)
	add(f.ErrorCode != "", "l.error_code = @error_code", "error_code", f.ErrorCode)
	add(!f.From.IsZero(), "l.created_at >= @from", "from", f.From)
	add(!f.To.IsZero(), "l.created_at < @to", "to", f.To)
	return where, args
}

// inStatuses is the condition that f's statuses add to restrictions; empty where it names none.
func inStatuses(f push.Filter) string {
	if len(f.Statuses) == 0 {
		return ""
	}
	return " AND l.status IN (" + strings.Join(column(f.Statuses, statusText), ", ") + ")"
}

// statusText is a status as SQL text; ” stands for what is none.
func statusText(s push.Status) string {
	if !slices.Contains(push.Statuses(), s) {
		return "''"
	}
	return "'" + string(s) + "'"
}

// scanEntry reads entryColumns.
func scanEntry(rec pgx.CollectableRow) (push.Entry, error) {
	var e push.Entry
	err := scanInto(&e, rec)
	return e, err
}

// scanCandidate reads entryColumns and overtaken.
func scanCandidate(rec pgx.CollectableRow) (push.Candidate, error) {
	var c push.Candidate
	err := scanInto(&c.Entry, rec, &c.Overtaken)
	return c, err
}

// scanInto reads entryColumns, and what follows them.
func scanInto(e *push.Entry, rec pgx.CollectableRow, more ...any) error {
	var lease, doubt, next, published, expires, settled, sent *time.Time
	err := rec.Scan(append([]any{
		&e.ID, &e.BizType, &e.RuleVersion, &e.DedupID, &e.Action, &e.Round, &e.BizID, &e.Status, &e.Attempt,
		&e.RetriesUsed, &e.Provider, &e.ProviderMsgID, &e.ErrorCode, &e.ErrorMessage, &e.Hint, &e.UserID,
		&e.Recipient, &e.RecipientKept, &e.EventID, &e.TraceID, &e.PossibleDuplicate, &e.LetterDue, &e.Origin.Topic,
		&e.Origin.Partition, &e.Origin.Offset, &e.Origin.Time, &e.CreatedAt, &e.UpdatedAt, &lease, &doubt, &next,
		&published, &expires, &settled, &sent,
	}, more...)...)
	e.LeaseUntil, e.AmbiguousSince, e.NextAttemptAt = timeOf(lease), timeOf(doubt), timeOf(next)
	e.PublishedAt, e.ExpiresAt = timeOf(published), timeOf(expires)
	e.SettledAt, e.SentAt = timeOf(settled), timeOf(sent)
	return err
}
