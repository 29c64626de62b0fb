package store

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Config says which PostgreSQL to use and how.
type Config struct {
	// URL is a libpq URL or keyword string. It may carry pool_max_conns and, for a transaction pooler in between,
	// default_query_exec_mode=exec: no prepared statement then outlives its transaction.
	URL string
	// MaxConns bounds the pool; 0 keeps the URL's pool_max_conns, or pgx's default.
	MaxConns int32
	// StatementTimeout ends a statement that hangs at the server; 0 means 30 s. The URL's own statement_timeout
	// comes first; behind a pooler (see URL) none is asked for, since poolers refuse to be told. The same holds for how
	// statements are planned.
	StatementTimeout time.Duration
	// Name is what the server shows as application_name; empty means "pusher".
	Name string
}

// defaults of a connection.
const (
	defaultStatementTimeout = 30 * time.Second
	defaultConnectTimeout   = 5 * time.Second
	defaultName             = "pusher"
)

// Store is the push log. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
}

// Open prepares a pool and waits for a first connection, so that a wrong address or password is known at once.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("reading postgres.url: %w", err)
	}
	if cfg.MaxConns > 0 {
		pc.MaxConns = cfg.MaxConns
	}
	settle(pc.ConnConfig, cfg)
	pc.AfterConnect = knowTexts
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("opening postgres pool: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connecting to postgres %s: %w", address(pc.ConnConfig), err)
	}
	return &Store{pool: pool}, nil
}

// Close waits for the connections in use and closes them all.
func (s *Store) Close() { s.pool.Close() }

// Ping reports whether PostgreSQL answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("asking postgres %s: %w", address(s.pool.Config().ConnConfig), err)
	}
	return nil
}

// planning is how PostgreSQL is to plan our statements, which all find their rows by an index, one by one. Left alone it
// plans the hot ones for the empty log that the first batches met, joins each batch with the whole table, and keeps that
// plan until the next ANALYZE; others it plans anew for each batch, which takes longer than to run them.
func planning() map[string]string {
	return map[string]string{
		"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
	}
}

// settle fills in what the URL left open. The time zone is fixed, so that no statement and no text form of a time
// depends on where server or worker stand.
func settle(cc *pgx.ConnConfig, cfg Config) {
	params := map[string]string{"timezone": "UTC", "application_name": defaultName}
	if cfg.Name != "" {
		params["application_name"] = cfg.Name
	}
	if !pooled(cc) {
		timeout := cfg.StatementTimeout
		if timeout <= 0 {
			timeout = defaultStatementTimeout
		}
		params["statement_timeout"] = strconv.FormatInt(timeout.Milliseconds(), 10)
		maps.Copy(params, planning())
	}
	maps.Copy(params, cc.RuntimeParams) // the URL's own words come first
	params["timezone"] = "UTC"
	cc.RuntimeParams = params
	if cc.ConnectTimeout <= 0 {
		cc.ConnectTimeout = defaultConnectTimeout
	}
}

// pooled reports whether the URL asks for a mode without prepared statements, as one does behind a pooler.
func pooled(cc *pgx.ConnConfig) bool {
	return cc.DefaultQueryExecMode == pgx.QueryExecModeExec ||
		cc.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol
}

// address names the server without user or password.
func address(cc *pgx.ConnConfig) string {
	return fmt.Sprintf("%s:%d/%s", cc.Host, cc.Port, cc.Database)
}
