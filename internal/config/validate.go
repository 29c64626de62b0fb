package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nyaruka/phonenumbers"
)

// topicName is what Kafka allows.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// validator collects what is wrong with values that have the right type.
type validator struct {
	places   places
	problems []Problem
}

// checkf notes a problem of the key unless ok.
func (v *validator) checkf(ok bool, key, format string, args ...any) {
	if !ok {
		v.problems = append(v.problems, v.places.problem(key, format, args...))
	}
}

// one checks a fixed choice.
func (v *validator) one(key, value string, choices ...string) {
	v.checkf(slices.Contains(choices, value), key, "%q is not among its values: %s", value, strings.Join(choices, ", "))
}

// positive checks a duration that must not be zero.
func (v *validator) positive(key string, d time.Duration) {
	v.checkf(d > 0, key, "is %s: must be longer than 0", d)
}

// addresses checks a list of host:port.
func (v *validator) addresses(key string, list []string) {
	v.checkf(len(list) > 0, key, "is empty: name at least one host:port")
	for _, address := range list {
		v.address(key, address)
	}
}

// address checks one host:port. The host may be a name that cannot be resolved here; `pusher check` sees to that.
func (v *validator) address(key, address string) {
	_, port, err := net.SplitHostPort(address)
	_, portErr := strconv.ParseUint(port, 10, 16)
	v.checkf(err == nil && portErr == nil, key, "%q is no host:port, such as 127.0.0.1:9092", address)
}

// baseURL checks an endpoint: where it is given, a full base URL.
func (v *validator) baseURL(key, endpoint string) {
	u, err := url.Parse(endpoint)
	ok := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.User == nil
	v.checkf(endpoint == "" || ok, key, "must be a full base URL, such as http://127.0.0.1:9000, or empty for the provider's own")
}

// tls checks that the files of a connection can be read and agree.
func (v *validator) tls(key string, t TLS) {
	off := TLS{}
	v.checkf(t.Enabled || t == off, key, "is configured but off: set %s.enabled: true, or remove the rest", key)
	_, err := t.Client()
	v.checkf(err == nil, key, "%v", err)
}

// Check finds what Load would refuse in a configuration that was made, or changed, by hand; nil for nothing, else an
// *Error.
func (c *Config) Check() error { return asError(c.validate()) }

// validate finds every value out of its bounds and every contradiction.
func (c *Config) validate() []Problem {
	v := &validator{places: c.places}
	c.Kafka.validate(v)
	c.Redis.validate(v)
	c.Postgres.validate(v)
	c.Retry.validate(v)
	c.validateWorker(v)
	c.validateDedup(v)
	c.validateRest(v)
	c.Channels.validate(v)
	c.Receipts.validate(v)
	c.Gateway.validate(v)
	c.validateRetention(v)
	c.Telemetry.validate(v)
	c.validateAccounts(v)
	c.validatePushes(v)
	return v.problems
}

// validate checks names and bounds as brokers would, and that no record can come back to where it was read: the three
// topics differ.
func (k Kafka) validate(v *validator) {
	v.addresses("kafka.brokers", k.Brokers)
	topics := []struct{ key, name string }{
		{"kafka.topic", k.Topic}, {"kafka.retry_topic", k.RetryTopic}, {"kafka.dead_letter_topic", k.DeadLetterTopic},
	}
	for i, t := range topics {
		v.checkf(topicName.MatchString(t.name), t.key, "%q is no topic name: 1 to 249 of a-z A-Z 0-9 . _ -", t.name)
		for _, earlier := range topics[:i] {
			v.checkf(t.name != earlier.name, t.key, "is the same topic as %s: give each its own", earlier.key)
		}
	}
	v.checkf(k.Group != "", "kafka.group", "is empty: name the consumer group")
	v.one("kafka.start", k.Start, StartFirst, StartLast)
	v.checkf(k.SessionTimeout >= 6*time.Second && k.SessionTimeout <= 30*time.Minute, "kafka.session_timeout",
		"is %s: brokers allow 6s to 30m", k.SessionTimeout)
	v.tls("kafka.tls", k.TLS)
	if k.SASL.Mechanism == "" {
		v.checkf(k.SASL == SASL{}, "kafka.sasl.mechanism", "is empty although a user is given: name one of plain, scram-sha-256, scram-sha-512")
		return
	}
	v.one("kafka.sasl.mechanism", k.SASL.Mechanism, SASLPlain, SASLScramSHA256, SASLScramSHA512)
	v.checkf(k.SASL.Username != "", "kafka.sasl.username", "is missing: %s needs one", k.SASL.Mechanism)
	v.checkf(k.SASL.Password != "", "kafka.sasl.password", "is missing: %s needs one, here or as password_file", k.SASL.Mechanism)
}

// validate checks that the addresses fit the mode.
func (r Redis) validate(v *validator) {
	v.addresses("redis.addrs", r.Addrs)
	v.one("redis.mode", r.Mode, ModeSingle, ModeSentinel, ModeCluster)
	v.checkf(r.Mode != ModeSingle || len(r.Addrs) <= 1, "redis.addrs", "has %d addresses in mode single: keep one, or set redis.mode", len(r.Addrs))
	v.checkf(r.Mode != ModeSentinel || r.Master != "", "redis.master", "is missing: mode sentinel needs the name it watches")
	v.checkf(r.Mode == ModeSentinel || r.Master == "", "redis.master", "is given in mode %s: only mode sentinel has one", r.Mode)
	v.checkf(r.Mode == ModeSentinel || r.SentinelUsername == "" && r.SentinelPassword == "", "redis.sentinel_password",
		"is given in mode %s: only mode sentinel has sentinels", r.Mode)
	v.checkf(r.DB >= 0, "redis.db", "is %d: must not be negative", r.DB)
	v.checkf(r.Mode != ModeCluster || r.DB == 0, "redis.db", "is %d: a cluster has only db 0", r.DB)
	v.positive("redis.timeout", r.Timeout)
	v.tls("redis.tls", r.TLS)
}

// validate never shows the URL: its password is in it.
func (p Postgres) validate(v *validator) {
	u, err := url.Parse(p.URL.Reveal())
	ok := err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
	v.checkf(p.URL == "" || ok, "postgres.url", "must look like postgres://user:password@host:5432/database, with special characters percent-encoded")
	v.checkf(p.MaxConns >= 2 && p.MaxConns <= 1000, "postgres.max_conns", "is %d: must be 2 to 1000", p.MaxConns)
	v.positive("postgres.timeout", p.Timeout)
}

// validate checks that waits grow, and that there is at least one attempt.
func (r Retry) validate(v *validator) {
	v.checkf(r.MaxAttempts >= 1, "retry.max_attempts", "is %d: must be at least 1", r.MaxAttempts)
	v.positive("retry.first", r.First)
	v.checkf(r.Factor >= 1, "retry.factor", "is %v: below 1 the waits would shrink; use 1 or more", r.Factor)
	v.checkf(r.Max >= r.First, "retry.max", "is %s: must not be shorter than retry.first (%s)", r.Max, r.First)
	v.checkf(r.Jitter >= 0 && r.Jitter <= 1, "retry.jitter", "is %v: must be 0 to 1", r.Jitter)
	v.checkf(r.Inline >= 0 && r.Inline <= 10, "retry.inline", "is %d: must be 0 to 10", r.Inline)
}

// validateWorker checks that an event of the largest size fits in, and that the last commit can be made: a member whose
// session is over has no partition to commit for.
func (c *Config) validateWorker(v *validator) {
	w := c.Worker
	v.checkf(w.InFlight >= 1, "worker.in_flight", "is %d: must be at least 1", w.InFlight)
	v.checkf(w.Waiting >= w.InFlight, "worker.waiting", "is %d: must not be below worker.in_flight (%d)", w.Waiting, w.InFlight)
	v.checkf(w.WaitingBytes >= 1<<20, "worker.waiting_bytes", "is %d: must hold the largest event, 1048576", w.WaitingBytes)
	v.positive("worker.grace", w.Grace)
	v.checkf(w.Grace < c.Kafka.SessionTimeout, "kafka.session_timeout",
		"is %s: must be longer than worker.grace (%s), or what ends in the grace cannot be committed", c.Kafka.SessionTimeout, w.Grace)
}

// validateDedup checks the lease against the channels: the fence (rule F1) lets nothing out once less than a timeout of
// the lease is left, so a lease below two of them could stop every send.
func (c *Config) validateDedup(v *validator) {
	d, longest := c.Dedup, c.Channels.longestTimeout()
	v.positive("dedup.lease", d.Lease)
	v.checkf(d.Lease >= 2*longest, "dedup.lease", "is %s: must be at least twice the longest channel timeout (%s)", d.Lease, longest)
	v.checkf(d.Window >= d.Lease, "dedup.window", "is %s: must not be shorter than dedup.lease (%s)", d.Window, d.Lease)
	v.zone("dedup.zone", d.Zone)
	v.one("dedup.on_redis_down", d.OnRedisDown, Pause, ByTheRow)
}

// zone checks an IANA name. "Local" is refused: what a day is must not depend on the machine.
func (v *validator) zone(key, name string) {
	_, err := time.LoadLocation(name)
	v.checkf(err == nil && name != "" && name != "Local", key, "%q is no time zone: use an IANA name such as Asia/Shanghai", name)
}

// minToken is how many characters a token of the console has at least: nobody guesses it, however patient.
const minToken = 16

// validate checks the address, and that no token can be guessed or opens more than it should.
func (h HTTP) validate(v *validator) {
	v.address("http.addr", h.Addr)
	for key, token := range map[string]Secret{"http.operator_token": h.OperatorToken, "http.viewer_token": h.ViewerToken} {
		v.checkf(token == "" || len(token) >= minToken, key, "is too short: use %d characters or more, such as those of `openssl rand -hex 16`", minToken)
	}
	v.checkf(h.ViewerToken == "" || h.ViewerToken != h.OperatorToken, "http.viewer_token", "is the operator's token too: give viewers their own")
}

// validateRest checks the small sections. A hash key that can be guessed would give every phone number away.
func (c *Config) validateRest(v *validator) {
	c.HTTP.validate(v)
	v.checkf(phonenumbers.GetCountryCodeForRegion(c.Phone.Region) != 0, "phone.region",
		"%q is no region: use an ISO 3166 code in upper case, such as CN", c.Phone.Region)
	key := c.Privacy.HashKey
	v.checkf(key == "" || len(key) >= 16, "privacy.hash_key", "is too short to hide phone numbers: use 16 characters or more")
	v.one("log.level", c.Log.Level, "trace", "debug", "info", "warn", "error")
}
