package store

import (
	"context"

	"pusher/internal/push"
)

// buryRows takes back what an intent with a lost answer may have done, and leaves what defeats it should it still
// arrive (rule U2): the queued attempt it names and its own sending, swept to unknown or not, become failed, due now; an
// earlier ambiguous attempt keeps them unknown.
const buryRows = `
WITH held AS (
	SELECT l.id FROM ` + asked + ` JOIN push_log l ON ` + found + `
	WHERE (` + isQueued + ` AND l.attempt = q.attempt) OR (l.status IN ('sending', 'unknown') AND l.owner = q.me)
	ORDER BY l.id FOR NO KEY UPDATE OF l
)
UPDATE push_log l SET
	status = CASE WHEN l.ambiguous_since IS NULL THEN 'failed' ELSE 'unknown' END,
	next_attempt_at = CASE WHEN l.ambiguous_since IS NULL THEN now() END,
	outcome = CASE WHEN l.status <> 'queued' THEN 'undone' END,
	finished_at = CASE WHEN l.status <> 'queued' THEN now() END,
	lease_until = NULL,
	updated_at = now()
FROM held h WHERE l.id = h.id`

// UndoLost undoes intents whose answers got lost, so that their claims may be released: rule U2. A delivery without a
// row gets its tombstone, failed(1) due now; one that is not to be sent at all opens as it would by Intend.
func (s *Store) UndoLost(ctx context.Context, intents []push.Intent) []push.Answer {
	return s.ofIntents(ctx, intents, "undoing lost intents", push.Failed, buryRows)
}

// undoRows gives an attempt back of which nothing left (rule U1): no retry used.
const undoRows = `
UPDATE push_log l SET
	status = CASE WHEN l.ambiguous_since IS NULL THEN 'failed' ELSE 'unknown' END,
	next_attempt_at = CASE WHEN l.ambiguous_since IS NULL THEN now() END,
	outcome = 'undone', finished_at = now(), lease_until = NULL, updated_at = now()
FROM ` + heldItems + `
WHERE l.id = q.id AND l.status IN ('sending', 'unknown') AND l.owner = q.owner AND l.attempt = q.attempt`

// Undo gives back attempts of which nothing left: rule U1. It counts also after the row was swept to unknown.
func (s *Store) Undo(ctx context.Context, held []push.Held) []push.Answer {
	return s.ofHeld(ctx, held, "undoing attempts", undoRows)
}
