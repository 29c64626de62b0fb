package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/segmentio/kafka-go"
)

// KafkaJars finds the directory with Kafka's jars: TESTBED_KAFKA_HOME, else pusher/kafka in the user's cache directory,
// where `make kafka-jars` puts them. The error wraps ErrNotInstalled.
func KafkaJars() (string, error) {
	dir := os.Getenv("TESTBED_KAFKA_HOME")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("looking for Kafka's jars: %w: %w", ErrNotInstalled, err)
		}
		dir = filepath.Join(cache, "pusher", "kafka")
	}
	if kafkaVersion(dir) == "" {
		return "", fmt.Errorf("looking for Kafka's jars in %s: %w (make kafka-jars)", dir, ErrNotInstalled)
	}
	return dir, nil
}

// kafkaVersion reads the version off the name of the broker's jar (kafka_2.13-4.1.2.jar); empty where there is none.
func kafkaVersion(jars string) string {
	found, _ := filepath.Glob(filepath.Join(jars, "kafka_2.13-*.jar"))
	if len(found) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "kafka_2.13-"), ".jar")
}

// Kafka starts one Kafka node (broker and controller in one, KRaft) from its jars with the java on PATH. It creates no
// topic by itself. Each address in told opens one more door, in Server.Doors: clients that come in there are told to
// come to that address, a proxy's before the door, for everything else too. The error wraps ErrNotInstalled where java
// or the jars are missing.
func Kafka(ctx context.Context, told ...string) (*Server, error) {
	jars, err := KafkaJars()
	if err != nil {
		return nil, err
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("looking for java: %w", ErrNotInstalled)
	}
	dir, err := os.MkdirTemp("", "pusher-kafka-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for kafka: %w", err)
	}
	s := &Server{Name: "kafka", Version: kafkaVersion(jars), dir: dir, stop: syscall.SIGTERM}
	if err := s.prepareKafka(ctx, java, filepath.Join(jars, "*"), told); err != nil {
		_ = s.Close() // the first error tells more
		return nil, err
	}
	return started(ctx, s)
}

// prepareKafka writes the settings and formats the storage.
func (s *Server) prepareKafka(ctx context.Context, java, classpath string, told []string) error {
	addrs := make([]string, 2+len(told)) // of broker and controller, then of the doors
	for i := range addrs {
		port, err := FreePort()
		if err != nil {
			return err
		}
		addrs[i] = loopback(port)
	}
	s.Addr, s.Doors = addrs[0], addrs[2:]
	settings := filepath.Join(s.dir, "server.properties")
	if err := os.WriteFile(settings, kafkaSettings(s.Addr, addrs[1], s.dir, s.Doors, told), 0o600); err != nil {
		return fmt.Errorf("writing kafka's settings: %w", err)
	}
	run := func(heap, class string, args ...string) *exec.Cmd {
		// The light compiler halves the start; the parallel machinery of the large one is lost on a test's load.
		flags := []string{"-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classpath, class}
		return exec.Command(java, append(flags, args...)...)
	}
	s.command = func() *exec.Cmd { return run("512m", "kafka.Kafka", settings) }
	s.ready = func(ctx context.Context) error { return PingKafka(ctx, s.Addr) }
	return s.formatKafka(ctx, run("128m", "kafka.tools.StorageTool", "format", "-t", clusterID(), "-c", settings))
}

func (s *Server) formatKafka(ctx context.Context, cmd *exec.Cmd) error {
	output := filepath.Join(s.dir, "format.log")
	proc, err := startProcess(cmd, output, nil)
	if err != nil {
		return fmt.Errorf("formatting kafka's storage: %w", err)
	}
	select {
	case <-proc.ended:
	case <-ctx.Done():
		proc.End(syscall.SIGKILL, 0)
		return fmt.Errorf("formatting kafka's storage: %w", ctx.Err())
	}
	if proc.err != nil {
		return fmt.Errorf("formatting kafka's storage: %w\n%s", proc.err, tail(output))
	}
	return nil
}

// kafkaSettings is server.properties for a node that is alone and need not outlive the machine. A group's first member
// waits for nobody, and offsets are kept once, as there is one broker. A door is a listener of its own.
func kafkaSettings(broker, controller, dir string, doors, told []string) []byte {
	var listen, advertise, protocol strings.Builder
	for i, door := range doors {
		fmt.Fprintf(&listen, ",DOOR%d://%s", i, door)
		fmt.Fprintf(&advertise, ",DOOR%d://%s", i, told[i])
		fmt.Fprintf(&protocol, ",DOOR%d:PLAINTEXT", i)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s%[4]s
advertised.listeners=PLAINTEXT://%[1]s%[5]s
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT%[6]s
log.dirs=%[3]s
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
offsets.topic.replication.factor=1
offsets.topic.num.partitions=8
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
log.cleaner.dedupe.buffer.size=2097152
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
`, broker, controller, filepath.Join(dir, "data"), &listen, &advertise, &protocol)
	return b.Bytes()
}

// clusterID is a fresh cluster id as Kafka wants it: a UUID in URL-safe base64.
func clusterID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails: crypto/rand ends the program rather
	id[0] &= 0x7f        // no leading dash, which would read as a flag
	return base64.RawURLEncoding.EncodeToString(id)
}

// PingKafka asks a broker whether it leads a cluster already: metadata that names a controller.
func PingKafka(ctx context.Context, addr string) error {
	transport := new(kafka.Transport)
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(addr), Transport: transport}
	meta, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return fmt.Errorf("asking %s for metadata: %w", addr, err)
	}
	if len(meta.Brokers) == 0 {
		return fmt.Errorf("asking %s for metadata: no broker yet", addr)
	}
	return nil
}
