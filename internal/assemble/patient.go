package assemble

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rs/zerolog"

	"pusher/internal/config"
	"pusher/internal/store"
	"pusher/internal/telemetry"
)

// patient tries connect until it succeeds or ctx ends, and says each time who is away.
func patient[T any](ctx context.Context, log zerolog.Logger, connect func(context.Context) (T, error)) (T, error) {
	tell := func(err error, wait time.Duration) {
		log.Warn().Err(err).Stringer(telemetry.FieldAgainIn, wait.Round(time.Millisecond)).Msg("a service is away: nothing is read or sent meanwhile")
	}
	return backoff.Retry(ctx, func() (T, error) { return connect(ctx) },
		backoff.WithBackOff(backoff.NewExponentialBackOff()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(tell))
}

// errBehind says that the push log's schema is not this program's.
var errBehind = errors.New("the push log's schema is behind this program: run pusher migrate up")

// Log opens the push log for operators; one whose schema is behind is refused in words that say what to do.
func Log(ctx context.Context, c *config.Config, name string) (*store.Store, error) {
	return migrated(ctx, c, name)
}

// migrated opens the push log and makes sure that its schema is there.
func migrated(ctx context.Context, c *config.Config, name string) (*store.Store, error) {
	log, err := Store(ctx, c, name)
	if err != nil {
		return nil, err
	}
	steps, err := store.MigrationStatus(ctx, c.Postgres.DSN())
	for _, step := range steps {
		if err == nil && !step.Applied {
			err = errBehind
		}
	}
	if err != nil {
		log.Close()
		return nil, err
	}
	return log, nil
}
