package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Event returns the event of a delivery as it was received, without its recipient; empty when there is no such
// delivery, or its event is not kept.
func (s *Store) Event(ctx context.Context, id int64) (string, error) {
	var text string
	err := s.pool.QueryRow(ctx, `SELECT coalesce(event::text, '') FROM push_log WHERE id = $1`, id).Scan(&text)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("reading the event of delivery %d: %w", id, err)
	}
	return text, nil
}
