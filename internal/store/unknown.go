package store

import (
	"context"
	"fmt"
	"time"
)

// unknownRows counts what may have been sent and gives the age of the oldest, by PostgreSQL's clock; the partial index
// push_log_unknown holds just these rows.
const unknownRows = `
SELECT count(*), coalesce(extract(epoch FROM now() - min(coalesce(ambiguous_since, intent_at))), 0)::float8
FROM push_log WHERE status = 'unknown'`

// UnknownAge counts the deliveries whose outcome is not known, and says how old the oldest is: the gauge that alarms.
func (s *Store) UnknownAge(ctx context.Context) (count int, oldest time.Duration, err error) {
	var age float64
	if err := s.pool.QueryRow(ctx, unknownRows).Scan(&count, &age); err != nil {
		return 0, 0, fmt.Errorf("counting unknown deliveries: %w", err)
	}
	return count, seconds(age), nil
}
