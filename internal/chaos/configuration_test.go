package chaos

import (
	"os"
	"path/filepath"
	"testing"

	"pusher/internal/config"
	"pusher/internal/sandbox/provider"
)

func TestTheProcessesReadTheConfigurationThatTheRefereeCountsOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pusher.yaml")
	if err := os.WriteFile(path, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := config.Load(path, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Dedup.Lease != lease || c.Channels.WeChat.ResendWithin != resendWithin {
		t.Errorf("lease %s, resend_within %s; want %s, %s", c.Dedup.Lease, c.Channels.WeChat.ResendWithin, lease, resendWithin)
	}
	if c.Kafka.Topic != topic || c.Kafka.Group != group || topics()[c.Kafka.RetryTopic] == 0 || topics()[c.Kafka.DeadLetterTopic] == 0 {
		t.Errorf("kafka is %+v; want the topics %v and group %s", c.Kafka, topics(), group)
	}
}

func TestEveryStormIsOneThatTheSandboxKnows(t *testing.T) {
	t.Parallel()
	faults := append(barred(), usualFaults()...)
	for draw := range uint64(100) {
		faults = append(faults, storm(draw|draw<<32))
	}
	if _, err := provider.New(provider.Config{Faults: faults}); err != nil {
		t.Error(err)
	}
}
