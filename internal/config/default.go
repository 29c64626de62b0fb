package config

import "time"

// The values that settings of a fixed choice take.
const (
	StartFirst = "first" // kafka.start: from the oldest record kept
	StartLast  = "last"  // kafka.start: only what comes from now on

	ModeSingle   = "single"   // redis.mode: one address
	ModeSentinel = "sentinel" // redis.mode: the addresses are the sentinels'
	ModeCluster  = "cluster"  // redis.mode: the addresses are some of the nodes'

	SASLPlain       = "plain"
	SASLScramSHA256 = "scram-sha-256"
	SASLScramSHA512 = "scram-sha-512"

	ProviderAliyun  = "aliyun"  // channels.sms.providers
	ProviderTencent = "tencent" // channels.sms.providers

	Hold   = "hold"   // when_unknown: at most once
	Resend = "resend" // when_unknown: at least once, marked possible_duplicate

	Pause    = "pause"    // dedup.on_redis_down: fetch nothing until it is back
	ByTheRow = "postgres" // dedup.on_redis_down: the push log alone arbitrates until it is back
)

const (
	defaultSession = 30 * time.Second
	sessionMargin  = 5 * time.Second // between the end of the grace and the session's
	heldPerRequest = 4               // worker.waiting for each of worker.in_flight
)

// Default returns the configuration of an empty file. What depends on other settings is still zero: see complete.
func Default() *Config {
	return &Config{
		Kafka: Kafka{
			Brokers: []string{"127.0.0.1:9092"}, Topic: "push-events", RetryTopic: "push-events-retry",
			DeadLetterTopic: "push-events-dlq", Group: "pusher", Start: StartFirst,
		},
		Redis:    Redis{Addrs: []string{"127.0.0.1:6379"}, Mode: ModeSingle, Timeout: time.Second},
		Postgres: Postgres{MaxConns: 16, StatementCache: true, Timeout: 5 * time.Second},
		Worker:   Worker{InFlight: 1024, WaitingBytes: 64 << 20, Grace: 25 * time.Second},
		Dedup:    Dedup{Window: 24 * time.Hour, Lease: 30 * time.Second, Zone: "Asia/Shanghai", OnRedisDown: Pause},
		HTTP:     HTTP{Addr: "127.0.0.1:8080"},
		Retry:    Retry{MaxAttempts: 8, First: 30 * time.Second, Factor: 2, Max: time.Hour, Jitter: 0.2, Inline: 2},
		Channels: Channels{
			Notify: NotifyChannel{Timeout: 5 * time.Second},
			SMS: SMSChannel{
				Timeout: 5 * time.Second, AskFor: 15 * time.Minute, WhenUnknown: Hold, HoldMax: 72 * time.Hour,
				Aliyun: Aliyun{Region: "cn-hangzhou", MaxVariable: 35}, Tencent: Tencent{Region: "ap-guangzhou"},
			},
			WeChat: WeChatChannel{
				Timeout: 5 * time.Second, ResendWithin: 9 * time.Minute, WhenUnknown: Hold, HoldMax: 72 * time.Hour,
			},
			Breaker: Breaker{Pause: 15 * time.Second, Share: 0.5, Requests: 20}, ProbeAfter: 5 * time.Minute,
		},
		Receipts: defaultReceipts(),

		Retention: Retention{Topics: 7 * 24 * time.Hour},

		Gateway: defaultGateway(),
		Phone:   Phone{Region: "CN"},
		Log:     Log{Level: "info"},

		Telemetry: Telemetry{Traces: Traces{Sample: 1}},
	}
}

// complete fills in the defaults that follow from other settings.
func (c *Config) complete() {
	if c.Kafka.SessionTimeout == 0 {
		c.Kafka.SessionTimeout = max(defaultSession, c.Worker.Grace+sessionMargin)
	}
	if c.Worker.Waiting == 0 {
		c.Worker.Waiting = heldPerRequest * c.Worker.InFlight
	}
	if c.Channels.SMS.Providers == nil {
		c.Channels.SMS.Providers = c.Channels.SMS.keyed()
	}
	for name, p := range c.Pushes {
		if p.Version == "" {
			p.Version = "v1"
		}
		if p.Dedup.By == nil {
			p.Dedup.By = By{"biz_id"}
		}
		if p.Dedup.Window == 0 {
			p.Dedup.Window = c.Dedup.Window
		}
		c.Pushes[name] = p
	}
}

// keyed lists the providers that have an account, in the order of preference of an empty file.
func (s SMSChannel) keyed() []string {
	var names []string
	if s.Aliyun.AccessKeyID != "" {
		names = append(names, ProviderAliyun)
	}
	if s.Tencent.SecretID != "" {
		names = append(names, ProviderTencent)
	}
	return names
}
