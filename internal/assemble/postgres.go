package assemble

import (
	"context"

	"pusher/internal/store"
)

// mayLose warns about a PostgreSQL whose settings break what the promise rests on: a commit that may be lost is an
// intent that may be lost. `pusher check` says the same.
func (p *Pusher) mayLose(ctx context.Context, log *store.Store) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Postgres.Timeout)
	defer cancel()
	if err := log.Check(ctx); err != nil {
		p.log.Warn().Err(err).Msg("postgres does not keep what the promise rests on")
	}
}
