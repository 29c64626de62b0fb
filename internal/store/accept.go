package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// acceptRows writes that deliveries were accepted by a provider (rule P1): whoever owns them now, since an acceptance is
// known for certain (hole H13). It answers the rows that it moved.
const acceptRows = `
UPDATE push_log l SET ` + asAccepted + `
FROM (SELECT * FROM unnest(@id::int8[], @provider::text[], @message_id::text[]) AS q(id, provider, message_id) ORDER BY id) q
WHERE l.id = q.id AND l.status IN ('sending', 'queued', 'failed', 'deferred', 'unknown')
RETURNING ` + movedColumns

// acceptInbox writes that in-app messages were accepted. They are by committing: only their own attempt may, and the
// inbox row commits in the same statement; the unique delivery_id is its last line of defence.
const acceptInbox = `
WITH q AS MATERIALIZED (
	SELECT * FROM unnest(@id::int8[], @owner::text[], @attempt::int4[], @provider::text[], @message_id::text[],
		@user_id::text[], @title::text[], @body::text[], @data::text[])
		AS q(id, owner, attempt, provider, message_id, user_id, title, body, data) ORDER BY id
), accepted AS (
	UPDATE push_log l SET ` + asAccepted + `
	FROM q WHERE l.id = q.id AND ` + isSending + ` AND l.owner = q.owner AND l.attempt = q.attempt
	RETURNING ` + movedColumns + `, q.user_id, q.title, q.body, q.data
), written AS (
	INSERT INTO inbox_message (delivery_id, user_id, title, body, data)
	SELECT id, user_id, title, body, nullif(data, '')::json FROM accepted
	ON CONFLICT (delivery_id) DO NOTHING
)
SELECT id, round, attempt, retries_used, owner, provider, doubt, doubt_age, updated_at FROM accepted`

const (
	asAccepted = `
	status = 'sent', sent_at = now(), settled_at = now(), recipient_full = NULL,
	outcome = 'accepted', finished_at = now(), provider = coalesce(nullif(q.provider, ''), l.provider),
	provider_msg_id = coalesce(nullif(q.message_id, ''), l.provider_msg_id),
	error_code = NULL, error_message = NULL, next_attempt_at = NULL, lease_until = NULL, updated_at = now()`

	// movedColumns is what scanAccepted reads: all that rowColumns would say of a row that was just accepted.
	movedColumns = `l.id, l.round, l.attempt, l.retries_used, coalesce(l.owner, '') AS owner, coalesce(l.provider, '') AS provider,
	l.ambiguous_since IS NOT NULL AS doubt,
	coalesce(extract(epoch FROM clock_timestamp() - l.ambiguous_since), 0)::float8 AS doubt_age, l.updated_at`
)

// accept writes acceptances of one kind, and puts the rows that moved into moved.
func (s *Store) accept(ctx context.Context, statement string, args pgx.NamedArgs, moved map[int64]push.Row) error {
	rows, err := s.pool.Query(ctx, statement, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r := push.Row{Status: push.Sent}
		var age float64
		if err := rows.Scan(&r.ID, &r.Round, &r.Attempt, &r.RetriesUsed, &r.Owner, &r.Provider, &r.Ambiguous, &age, &r.UpdatedAt); err != nil {
			return err
		}
		r.AmbiguousAge, r.SettledAt = seconds(age), r.UpdatedAt
		moved[r.ID] = r
	}
	return rows.Err()
}

// The longest texts of an in-app message, in characters.
const (
	maxTitle = 1000
	maxBody  = 100_000
)

// acceptedArgs are the arguments of acceptRows.
func acceptedArgs(list []push.Result) pgx.NamedArgs {
	text := func(pick func(push.Result) string) []string { return column(list, pick) }
	return pgx.NamedArgs{
		"id":         column(list, func(r push.Result) int64 { return r.ID }),
		"provider":   text(func(r push.Result) string { return clean(r.Provider, maxLabel) }),
		"message_id": text(func(r push.Result) string { return clean(r.MessageID, maxMessageID) }),
	}
}

// inboxArgs are the arguments of acceptInbox; an in-app message's data is JSON already and is not cleaned, since a cut
// text would be none.
func inboxArgs(list []push.Result) pgx.NamedArgs {
	text := func(pick func(push.Result) string) []string { return column(list, pick) }
	args := acceptedArgs(list)
	args["owner"] = text(func(r push.Result) string { return r.Owner })
	args["attempt"] = column(list, func(r push.Result) int { return r.Attempt })
	args["user_id"] = text(func(r push.Result) string { return clean(r.Inbox.UserID, maxAddress) })
	args["title"] = text(func(r push.Result) string { return clean(r.Inbox.Title, maxTitle) })
	args["body"] = text(func(r push.Result) string { return clean(r.Inbox.Body, maxBody) })
	args["data"] = text(func(r push.Result) string { return string(r.Inbox.Data) })
	return args
}
