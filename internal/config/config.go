package config

import "time"

// Config is the whole configuration. Defaults are in brackets.
type Config struct {
	Kafka    Kafka    `yaml:"kafka"`
	Redis    Redis    `yaml:"redis"`
	Postgres Postgres `yaml:"postgres"`
	Worker   Worker   `yaml:"worker"`
	Dedup    Dedup    `yaml:"dedup"`
	HTTP     HTTP     `yaml:"http"`
	Retry    Retry    `yaml:"retry"`
	Channels Channels `yaml:"channels"`
	Receipts Receipts `yaml:"receipts"`
	Gateway  Gateway  `yaml:"gateway"`

	Retention Retention `yaml:"retention"`

	Phone   Phone   `yaml:"phone"`
	Privacy Privacy `yaml:"privacy"`
	Log     Log     `yaml:"log"`

	Telemetry Telemetry `yaml:"telemetry"`

	Pushes map[string]Push `yaml:"pushes"` // by biz_type; the only part without environment overrides

	places places // where each key was said, for problems found after Load
}

// Kafka is where events come from and dead letters go.
type Kafka struct {
	Brokers         []string      `yaml:"brokers"`           // host:port [127.0.0.1:9092]
	Topic           string        `yaml:"topic"`             // producers write it [push-events]
	RetryTopic      string        `yaml:"retry_topic"`       // the compensator writes it [push-events-retry]
	DeadLetterTopic string        `yaml:"dead_letter_topic"` // what cannot be processed [push-events-dlq]
	Group           string        `yaml:"group"`             // consumer group [pusher]
	Start           string        `yaml:"start"`             // first or last: where a group without offsets begins [first]
	SessionTimeout  time.Duration `yaml:"session_timeout"`   // silent for this long, a member is out [30s, or worker.grace + 5s if longer]
	TLS             TLS           `yaml:"tls"`
	SASL            SASL          `yaml:"sasl"`
}

// SASL is how a client names itself to Kafka.
type SASL struct {
	Mechanism string `yaml:"mechanism"` // empty for none, plain, scram-sha-256 or scram-sha-512
	Username  string `yaml:"username"`
	Password  Secret `yaml:"password"`
}

// Redis is the fast arbiter of dedup.
type Redis struct {
	Addrs    []string      `yaml:"addrs"`  // host:port; of sentinels in mode sentinel [127.0.0.1:6379]
	Mode     string        `yaml:"mode"`   // single, sentinel or cluster [single]
	Master   string        `yaml:"master"` // mode sentinel: the name it watches
	Username string        `yaml:"username"`
	Password Secret        `yaml:"password"`
	DB       int           `yaml:"db"` // 0 in a cluster
	TLS      TLS           `yaml:"tls"`
	Timeout  time.Duration `yaml:"timeout"` // of a dial and of one reply [1s]

	SentinelUsername string `yaml:"sentinel_username"` // mode sentinel: of the sentinels themselves
	SentinelPassword Secret `yaml:"sentinel_password"`
}

// Postgres is the push log.
type Postgres struct {
	URL            Secret        `yaml:"url"`             // postgres://user:password@host:port/database
	MaxConns       int           `yaml:"max_conns"`       // [16]
	StatementCache bool          `yaml:"statement_cache"` // false behind a pooler in transaction mode [true]
	Timeout        time.Duration `yaml:"timeout"`         // of one statement [5s]
}

// Worker bounds what one process holds at once.
type Worker struct {
	InFlight     int           `yaml:"in_flight"`     // requests out at providers; a channel with company leaves a quarter to the others [1024]
	Waiting      int           `yaml:"waiting"`       // deliveries held, those at providers included [4 x in_flight]
	WaitingBytes int           `yaml:"waiting_bytes"` // bytes of their records [67108864, 64 MiB]
	Grace        time.Duration `yaml:"grace"`         // from SIGTERM to the end [25s]
}

// Dedup is how long a fact is remembered and a claim holds.
type Dedup struct {
	Window      time.Duration `yaml:"window"`        // after its settle a fact is a duplicate for this long [24h]
	Lease       time.Duration `yaml:"lease"`         // of a claim without renewal [30s]
	Zone        string        `yaml:"zone"`          // whose days dedup.by date means [Asia/Shanghai]
	OnRedisDown string        `yaml:"on_redis_down"` // pause or postgres: what arbitrates while Redis is away [pause]
}

// HTTP is the door for probes, metrics and operators. Without any token the console is off.
type HTTP struct {
	Addr          string `yaml:"addr"`           // host:port [127.0.0.1:8080]
	OperatorToken Secret `yaml:"operator_token"` // signs in to the console, to look and to act
	ViewerToken   Secret `yaml:"viewer_token"`   // signs in to the console, to look only
}

// Retry is the backoff of what certainly was not sent.
type Retry struct {
	MaxAttempts int           `yaml:"max_attempts"` // that count; then dead [8]
	First       time.Duration `yaml:"first"`        // wait after the first failure [30s]
	Factor      float64       `yaml:"factor"`       // from one wait to the next [2]
	Max         time.Duration `yaml:"max"`          // the longest wait [1h]
	Jitter      float64       `yaml:"jitter"`       // share of the wait that is random, 0 to 1 [0.2]
	Inline      int           `yaml:"inline"`       // tries at once, inside the lease, on proof that nothing left [2]
}

// Phone is how numbers without a country are read.
type Phone struct {
	Region string `yaml:"region"` // ISO 3166 region of such numbers [CN]
}

// Privacy is what keeps recipients out of sight.
type Privacy struct {
	HashKey Secret `yaml:"hash_key"` // keys recipient_hash, by which operators search; empty: none is kept
}

// Log is how much is logged.
type Log struct {
	Level string `yaml:"level"` // trace, debug, info, warn or error [info]
}
