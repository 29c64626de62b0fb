package consume

import (
	"strings"
	"testing"
	"time"
)

func TestAConfigurationThatCannotWorkIsNamed(t *testing.T) {
	t.Parallel()
	whole := Config{Cluster: Cluster{Brokers: []string{"a:1"}}, Group: "g", Topics: []string{"t"}, DeadLetterTopic: "d"}
	if _, err := New(whole, nil, nil); err != nil {
		t.Fatalf("a whole configuration: %v", err)
	}
	for want, spoil := range map[string]func(*Config){
		"brokers":     func(c *Config) { c.Brokers = nil },
		"group":       func(c *Config) { c.Group = "" },
		"topics":      func(c *Config) { c.Topics = nil },
		"dead-letter": func(c *Config) { c.DeadLetterTopic = "" },
		"start":       func(c *Config) { c.Start = "middle" },
		"drain":       func(c *Config) { c.DrainTimeout = time.Hour },
		"mechanism":   func(c *Config) { c.SASL.Mechanism = "gssapi" },
	} {
		c := whole
		spoil(&c)
		if _, err := New(c, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name the %s", err, want)
		}
	}
}

func TestEveryMechanismLogsIn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{MechanismPlain, MechanismScramSHA256, MechanismScramSHA512} {
		m, err := Cluster{SASL: SASL{Mechanism: name, Username: "u", Password: "p"}}.mechanism()
		if err != nil || !strings.EqualFold(m.Name(), name) {
			t.Errorf("mechanism %s: %v, %v", name, m, err)
		}
	}
}
