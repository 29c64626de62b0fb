package testbed

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"pusher/internal/sandbox/embedded"
	"pusher/internal/sandbox/local"
)

// service is how one of the three servers can be had.
type service struct {
	env       string // names the variable that gives it
	given     func(ctx context.Context, value string) (*Server, error)
	container func(ctx context.Context) (*Server, error)
	local     func(ctx context.Context) (*Server, error)
	embedded  func(ctx context.Context) (*Server, error)
}

// services are the three, by name; nobody writes to it.
var services = map[string]service{ //nolint:gochecknoglobals // a table, constant in all but syntax
	"kafka": {
		env: "TESTBED_KAFKA", given: givenKafka, container: kafkaContainer,
		local: func(ctx context.Context) (*Server, error) { return process(local.Kafka(ctx)) },
		embedded: func(ctx context.Context) (*Server, error) {
			broker, err := embedded.Kafka(ctx)
			if err != nil {
				return nil, err
			}
			return &Server{Version: embedded.KafkaVersion, Addr: broker.Addr, engine: broker}, nil
		},
	},
	"redis": {
		env: "TESTBED_REDIS", given: givenRedis, container: redisContainer,
		local: func(ctx context.Context) (*Server, error) { return process(local.Redis(ctx)) },
		embedded: func(ctx context.Context) (*Server, error) {
			mini, err := embedded.Redis(ctx)
			if err != nil {
				return nil, err
			}
			return &Server{Version: embedded.RedisVersion, Addr: mini.Addr, engine: mini}, nil
		},
	},
	"postgres": {
		env: "TESTBED_POSTGRES", given: givenPostgres, container: postgresContainer,
		local: func(ctx context.Context) (*Server, error) {
			bin, err := local.PostgresBin()
			if err != nil {
				return nil, err
			}
			return process(local.Postgres(ctx, bin))
		},
		embedded: func(ctx context.Context) (*Server, error) { return process(embedded.Postgres(ctx)) },
	},
}

// Start gets a server by name: the given one, else one of its own, as Fresh does.
func Start(ctx context.Context, name string) (*Server, error) {
	s := services[name]
	value := os.Getenv(s.env)
	if value == "" {
		return Fresh(ctx, name)
	}
	server, err := s.given(ctx, value)
	if err != nil {
		return nil, fmt.Errorf("reaching the %s that %s gives: %w", name, s.env, err)
	}
	server.Name, server.Kind, server.Version = name, Given, "by "+s.env
	return server, nil
}

// Fresh starts a server of its own: in a container, else locally, else embedded. What this machine lacks makes it try the
// next kind, as does a container that does not come up (an image that cannot be pulled), which it tells on stderr; a
// local server that is installed and does not start is an error.
func Fresh(ctx context.Context, name string) (*Server, error) {
	s := services[name]
	var missing []error
	for _, way := range []struct {
		kind  Kind
		start func(context.Context) (*Server, error)
	}{{Container, s.container}, {Local, s.local}, {Embedded, s.embedded}} {
		server, err := way.start(ctx)
		if err == nil {
			server.Name, server.Kind = name, way.kind
			return server, nil
		}
		missing = append(missing, fmt.Errorf("starting %s %s: %w", way.kind, name, err))
		if errors.Is(err, local.ErrNotInstalled) {
			continue
		}
		if way.kind != Container {
			break
		}
		fmt.Fprintln(os.Stderr, missing[len(missing)-1])
	}
	return nil, errors.Join(missing...)
}

// process describes a server process.
func process(s *local.Server, err error) (*Server, error) {
	if err != nil {
		return nil, err
	}
	return &Server{Version: s.Version, Addr: s.Addr, URL: s.URL, engine: s}, nil
}

func givenKafka(ctx context.Context, value string) (*Server, error) {
	return &Server{Addr: value}, local.PingKafka(ctx, value)
}

func givenRedis(ctx context.Context, value string) (*Server, error) {
	return &Server{Addr: value}, local.PingRedis(ctx, value)
}

func givenPostgres(ctx context.Context, value string) (*Server, error) {
	parsed, err := url.Parse(value)
	if err != nil {
		return nil, errors.New("not a URL") // the cause would show the password
	}
	return &Server{Addr: parsed.Host, URL: value}, local.PingPostgres(ctx, value)
}
