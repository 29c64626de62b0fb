package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Check reports what of this PostgreSQL would break the promises of docs/protocol.md: a commit that may be lost, a
// standby, a transaction isolation in which a statement does not see what others have committed. Each finding says
// how to mend it; nil means that all is well. The schema is checked by MigrationStatus.
func (s *Store) Check(ctx context.Context) error {
	var commit, isolation string
	var standby bool
	err := s.pool.QueryRow(ctx, `SELECT current_setting('synchronous_commit'),
		current_setting('default_transaction_isolation'), pg_is_in_recovery()`).Scan(&commit, &isolation, &standby)
	if err != nil {
		return fmt.Errorf("checking postgres %s: %w", address(s.pool.Config().ConnConfig), err)
	}
	var found []error
	if commit == "off" {
		found = append(found, errors.New("synchronous_commit is off, so a committed intent may be lost: set it to on"))
	}
	if isolation != "read committed" {
		found = append(found, fmt.Errorf("default_transaction_isolation is %q: set it to \"read committed\"",
			strings.TrimSpace(isolation)))
	}
	if standby {
		found = append(found, errors.New("the server is a standby: postgres.url must name the primary"))
	}
	return errors.Join(found...)
}
