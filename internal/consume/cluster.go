package consume

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// The SASL mechanisms.
const (
	MechanismPlain       = "plain"
	MechanismScramSHA256 = "scram-sha-256"
	MechanismScramSHA512 = "scram-sha-512"
)

// SASL is how to log in at the brokers.
type SASL struct {
	Mechanism string // one of the Mechanism constants; empty: no login
	Username  string
	Password  string
}

// Cluster is how to reach Kafka.
type Cluster struct {
	Brokers  []string      // host:port of at least one broker
	ClientID string        // the name in the brokers' logs and quotas; default "pusher"
	SASL     SASL          //
	TLS      *tls.Config   // nil: plain text
	Timeout  time.Duration // to connect, and of any answer that has no limit of its own; default 5s
}

// withDefaults fills what is not set.
func (c Cluster) withDefaults() Cluster {
	if c.ClientID == "" {
		c.ClientID = "pusher"
	}
	if c.Timeout <= 0 {
		c.Timeout = 5 * time.Second
	}
	return c
}

// mechanism answers nil when there is no login.
func (c Cluster) mechanism() (sasl.Mechanism, error) {
	switch c.SASL.Mechanism {
	case "":
		return nil, nil
	case MechanismPlain:
		return plain.Mechanism{Username: c.SASL.Username, Password: c.SASL.Password}, nil
	case MechanismScramSHA256:
		return scram.Mechanism(scram.SHA256, c.SASL.Username, c.SASL.Password)
	case MechanismScramSHA512:
		return scram.Mechanism(scram.SHA512, c.SASL.Username, c.SASL.Password)
	default:
		return nil, fmt.Errorf("sasl mechanism %q is none of %s, %s, %s",
			c.SASL.Mechanism, MechanismPlain, MechanismScramSHA256, MechanismScramSHA512)
	}
}

// validate names what is missing.
func (c Cluster) validate() error {
	if len(c.Brokers) == 0 {
		return errors.New("no kafka brokers are given")
	}
	_, err := c.mechanism()
	return err
}

// dialer connects through w, so that cutting w ends every call that hangs in kafka-go. The cluster is valid.
func (c Cluster) dialer(w *wire) *kafka.Dialer {
	mechanism, _ := c.mechanism()
	return &kafka.Dialer{
		ClientID:      c.ClientID,
		Timeout:       c.Timeout,
		DialFunc:      w.dial,
		TLS:           c.TLS,
		SASLMechanism: mechanism,
	}
}

// transport is the dialer's counterpart for kafka.Client and kafka.Writer. Without topics it knows all of the
// cluster's, refreshed at least every ttl.
func (c Cluster) transport(w *wire, ttl time.Duration, topics ...string) *kafka.Transport {
	mechanism, _ := c.mechanism()
	return &kafka.Transport{
		Dial:           w.dial,
		DialTimeout:    c.Timeout,
		ClientID:       c.ClientID,
		MetadataTTL:    ttl,
		MetadataTopics: topics,
		TLS:            c.TLS,
		SASL:           mechanism,
	}
}
