package store

import (
	"context"
	"fmt"
	"time"

	"pusher/internal/push"
)

// count opens a count of the rows that a guard picks; each uses the guard's own partial index.
const count = `(SELECT count(*) FROM push_log AS l WHERE `

const dueSQL = `SELECT ` +
	count + dueRetry + `), ` +
	count + dueMessage + ` AND (` + pastExpiry + `) IS NOT TRUE), ` +
	count + staleSending + ` AND ` + harmless + `), ` +
	count + staleSending + ` AND NOT (` + harmless + `) AND action <> 'notify'), ` +
	count + staleSending + ` AND NOT (` + harmless + `) AND action = 'notify'), ` +
	count + dueRepeat + `), ` +
	count + dueQuestion + `), ` +
	count + dueResend + `), ` +
	count + heldBack + `), ` +
	count + usedUp + `), ` +
	count + pastExpiry + ` AND NOT (` + usedUp + `) AND ` + neverSent + `), ` +
	count + pastExpiry + ` AND NOT (` + usedUp + `) AND NOT (` + neverSent + `)), ` +
	count + tooLong + `), ` +
	count + `letter_due)`

// Due counts, rule by rule, what is due now, and changes nothing. A row that one step of a pass would hand to the
// next is counted where it stands now.
func (s *Store) Due(ctx context.Context, p push.Policy, providers []string, patience time.Duration) (push.Tally, error) {
	args := doubts(p, 0, providers)
	args["patience"] = patience
	var t push.Tally
	err := s.pool.QueryRow(ctx, dueSQL, args).Scan(&t.Requeued, &t.Republished,
		&t.SweptQueued, &t.SweptUnknown, &t.SweptDead, &t.Repeated, &t.Asked, &t.Resent, &t.Held,
		&t.Dead, &t.Expired, &t.Doubted, &t.UnknownExpired, &t.Letters)
	if err != nil {
		return push.Tally{}, fmt.Errorf("counting due rows: %w", err)
	}
	return t, nil
}
