package store

import (
	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// acceptRows writes that a delivery was accepted (rule P1): whoever owns it now, since an acceptance is known for
// certain (hole H13). An in-app message is accepted by committing: only its own attempt may, and the inbox row commits
// in the same statement; the unique delivery_id is its last line of defence.
const acceptRows = `
WITH q AS (
	SELECT * FROM unnest(@id::int8[], @owner::text[], @attempt::int4[], @provider::text[], @message_id::text[],
		@inbox::bool[], @user_id::text[], @title::text[], @body::text[], @data::text[])
		AS q(id, owner, attempt, provider, message_id, inbox, user_id, title, body, data)
), accepted AS (
	UPDATE push_log l SET
		status = 'sent', sent_at = now(), settled_at = now(), recipient_full = NULL,
		outcome = 'accepted', finished_at = now(), provider = coalesce(nullif(q.provider, ''), l.provider),
		provider_msg_id = coalesce(nullif(q.message_id, ''), l.provider_msg_id),
		error_code = NULL, error_message = NULL, next_attempt_at = NULL, lease_until = NULL, updated_at = now()
	FROM q
	WHERE l.id = q.id AND CASE WHEN q.inbox
		THEN l.status = 'sending' AND l.owner = q.owner AND l.attempt = q.attempt
		ELSE l.status IN ('sending', 'queued', 'failed', 'deferred', 'unknown') END
	RETURNING l.id
)
INSERT INTO inbox_message (delivery_id, user_id, title, body, data)
SELECT q.id, q.user_id, q.title, q.body, nullif(q.data, '')::json
FROM q JOIN accepted USING (id) WHERE q.inbox ORDER BY q.id
ON CONFLICT (delivery_id) DO NOTHING`

// The longest texts of an in-app message, in characters.
const (
	maxTitle = 1000
	maxBody  = 100_000
)

// acceptedArgs are the arguments of acceptRows; an in-app message's data is JSON already and is not cleaned, since a
// cut text would be none.
func acceptedArgs(list []push.Result) pgx.NamedArgs {
	text := func(pick func(push.Result) string) []string { return column(list, pick) }
	inbox := func(pick func(push.Inbox) string) []string {
		return text(func(r push.Result) string {
			if r.Inbox == nil {
				return ""
			}
			return pick(*r.Inbox)
		})
	}
	return pgx.NamedArgs{
		"id":         column(list, func(r push.Result) int64 { return r.ID }),
		"owner":      text(func(r push.Result) string { return r.Owner }),
		"attempt":    column(list, func(r push.Result) int { return r.Attempt }),
		"provider":   text(func(r push.Result) string { return clean(r.Provider, maxLabel) }),
		"message_id": text(func(r push.Result) string { return clean(r.MessageID, maxMessageID) }),
		"inbox":      column(list, func(r push.Result) bool { return r.Inbox != nil }),
		"user_id":    inbox(func(m push.Inbox) string { return clean(m.UserID, maxAddress) }),
		"title":      inbox(func(m push.Inbox) string { return clean(m.Title, maxTitle) }),
		"body":       inbox(func(m push.Inbox) string { return clean(m.Body, maxBody) }),
		"data":       inbox(func(m push.Inbox) string { return string(m.Data) }),
	}
}
