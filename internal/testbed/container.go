package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"

	"pusher/internal/sandbox/local"
)

// The images, those of docker-compose.yml.
const (
	kafkaImage    = "apache/kafka:4.1.2"
	redisImage    = "redis:8-alpine"
	postgresImage = "postgres:18-alpine"
)

// Images names the image of each server, for who runs the same ones elsewhere.
func Images() map[string]string {
	return map[string]string{"kafka": kafkaImage, "redis": redisImage, "postgres": postgresImage}
}

// docked is a server in a container.
type docked struct {
	container *testcontainers.DockerContainer
	ready     func(ctx context.Context) error
}

// Start starts the stopped container and returns once its server answers.
func (d *docked) Start(ctx context.Context) error {
	if err := d.container.Start(ctx); err != nil {
		return err
	}
	return d.await(ctx)
}

func (d *docked) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*awaitPatience)
	defer cancel()
	for {
		err := d.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(10 * awaitEvery):
		}
	}
}

// Stop stops the container and keeps it.
func (d *docked) Stop() error { return d.stop(10 * time.Second) }

// Kill stops the container without asking its server.
func (d *docked) Kill() error { return d.stop(0) }

func (d *docked) stop(patience time.Duration) error {
	return d.container.Stop(context.Background(), &patience) // at the end of a test no other context is left
}

// Close removes the container.
func (d *docked) Close() error { return d.container.Terminate(context.Background()) }

// DockerAnswers tells whether a Docker engine is there; if not, the error wraps local.ErrNotInstalled.
func DockerAnswers(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil { // how the library says that it found no engine
			err = fmt.Errorf("looking for a Docker engine: %w: %v", local.ErrNotInstalled, cause)
		}
	}()
	provider, err := testcontainers.ProviderDocker.GetProvider()
	if err != nil {
		return fmt.Errorf("looking for a Docker engine: %w: %w", local.ErrNotInstalled, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := provider.Health(ctx); err != nil { // closes the provider too
		return fmt.Errorf("looking for a Docker engine: %w: %w", local.ErrNotInstalled, err)
	}
	return nil
}

// runContainer starts an image whose server listens on inner, on a port of 127.0.0.1 that stays over restarts.
func runContainer(ctx context.Context, image string, port, inner int, ready func(context.Context) error,
	opts ...testcontainers.ContainerCustomizer) (*docked, error) {
	exposed := network.MustParsePort(strconv.Itoa(inner) + "/tcp")
	opts = append(opts, testcontainers.WithExposedPorts(exposed.String()),
		testcontainers.WithHostConfigModifier(func(host *container.HostConfig) {
			host.PortBindings = network.PortMap{exposed: {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(port)}}}
		}))
	run, err := testcontainers.Run(ctx, image, opts...)
	if err != nil {
		return nil, errors.Join(err, testcontainers.TerminateContainer(run))
	}
	d := &docked{container: run, ready: ready}
	if err := d.await(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// placeContainer finds out whether a container can be run, and its port.
func placeContainer(ctx context.Context) (port int, addr string, err error) {
	if err := DockerAnswers(ctx); err != nil {
		return 0, "", err
	}
	port, err = local.FreePort()
	return port, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

func kafkaContainer(ctx context.Context) (*Server, error) {
	port, addr, err := placeContainer(ctx)
	if err != nil {
		return nil, err
	}
	d, err := runContainer(ctx, kafkaImage, port, 9092,
		func(ctx context.Context) error { return local.PingKafka(ctx, addr) },
		testcontainers.WithEnv(map[string]string{
			"KAFKA_NODE_ID": "1", "KAFKA_PROCESS_ROLES": "broker,controller",
			"KAFKA_LISTENERS":                        "PLAINTEXT://0.0.0.0:9092,CONTROLLER://127.0.0.1:9093",
			"KAFKA_ADVERTISED_LISTENERS":             "PLAINTEXT://" + addr,
			"KAFKA_CONTROLLER_LISTENER_NAMES":        "CONTROLLER",
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":   "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
			"KAFKA_CONTROLLER_QUORUM_VOTERS":         "1@127.0.0.1:9093",
			"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1", "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "8",
			"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0", "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
		}))
	if err != nil {
		return nil, err
	}
	return &Server{Version: kafkaImage, Addr: addr, engine: d}, nil
}

func redisContainer(ctx context.Context) (*Server, error) {
	port, addr, err := placeContainer(ctx)
	if err != nil {
		return nil, err
	}
	d, err := runContainer(ctx, redisImage, port, 6379,
		func(ctx context.Context) error { return local.PingRedis(ctx, addr) },
		testcontainers.WithCmd("redis-server", "--databases", strconv.Itoa(local.RedisDatabases), "--save", "",
			"--appendonly", "yes", "--maxmemory-policy", "noeviction"))
	if err != nil {
		return nil, err
	}
	return &Server{Version: redisImage, Addr: addr, engine: d}, nil
}

func postgresContainer(ctx context.Context) (*Server, error) {
	port, addr, err := placeContainer(ctx)
	if err != nil {
		return nil, err
	}
	url := "postgres://postgres:postgres@" + addr + "/postgres?sslmode=disable"
	d, err := runContainer(ctx, postgresImage, port, 5432,
		func(ctx context.Context) error { return local.PingPostgres(ctx, url) },
		testcontainers.WithEnv(map[string]string{"POSTGRES_PASSWORD": "postgres"}),
		testcontainers.WithCmd("postgres", "-c", "max_connections=300", "-c", "fsync=off", "-c", "full_page_writes=off",
			"-c", "autovacuum=off"))
	if err != nil {
		return nil, err
	}
	return &Server{Version: postgresImage, Addr: addr, URL: url, engine: d}, nil
}
