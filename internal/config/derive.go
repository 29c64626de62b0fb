package config

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"pusher/internal/push"
)

// parse reads dedup.by; the error does not repeat the key.
func (b By) parse() (push.By, error) {
	by, err := push.ParseBy(b...)
	if err != nil {
		return by, errors.New(strings.TrimPrefix(err.Error(), "dedup.by: "))
	}
	return by, nil
}

// Rules returns what each push takes as one business fact, by biz_type.
func (c *Config) Rules() map[string]push.Rule {
	zone, _ := time.LoadLocation(c.Dedup.Zone) // Load has checked both
	rules := make(map[string]push.Rule, len(c.Pushes))
	for name, p := range c.Pushes {
		by, _ := p.Dedup.By.parse()
		rules[name] = push.Rule{
			BizType: name, Version: p.Version, By: by, Window: p.Dedup.Window, Zone: zone, Region: c.Phone.Region,
		}
	}
	return rules
}

// Backoff returns how long failed deliveries wait.
func (c *Config) Backoff() push.Backoff {
	r := c.Retry
	return push.Backoff{MaxAttempts: r.MaxAttempts, First: r.First, Factor: r.Factor, Max: r.Max, Jitter: r.Jitter}
}

// Policy returns how often and how long the compensator tries.
func (c *Config) Policy() push.Policy {
	sms, wechat := c.Channels.SMS, c.Channels.WeChat
	return push.Policy{
		MaxAttempts: c.Retry.MaxAttempts, Lease: c.Dedup.Lease, ResendWithin: wechat.ResendWithin,
		SMS:    push.Doubt{AskFor: sms.AskFor, Timeout: sms.Timeout, Resend: sms.WhenUnknown == Resend, HoldMax: sms.HoldMax},
		WeChat: push.Doubt{Timeout: wechat.Timeout, Resend: wechat.WhenUnknown == Resend, HoldMax: wechat.HoldMax},
	}
}

// Rates returns how many requests a second each channel takes, those of its providers together; a channel without limit,
// or with a provider that has none, is not in it.
func (c *Config) Rates() map[push.Action]float64 {
	rates := make(map[push.Action]float64)
	if r := c.Channels.WeChat.Rate; r > 0 {
		rates[push.WeChat] = r
	}
	var sms float64
	for _, name := range c.Channels.SMS.Providers {
		r := map[string]float64{ProviderAliyun: c.Channels.SMS.Aliyun.Rate, ProviderTencent: c.Channels.SMS.Tencent.Rate}[name]
		if r == 0 {
			return rates
		}
		sms += r
	}
	if sms > 0 {
		rates[push.SMS] = sms
	}
	return rates
}

// NeedPostgres says, as an *Error, that a command needs the push log and none is configured.
func (c *Config) NeedPostgres() error {
	if c.Postgres.URL != "" {
		return nil
	}
	return asError([]Problem{c.places.problem("postgres.url",
		"is missing: name the push log's database, here, as url_file or as PUSHER_POSTGRES_URL")})
}

// NeedPushes says, as an *Error, that a command needs at least one push and none is configured.
func (c *Config) NeedPushes() error {
	if len(c.Pushes) > 0 {
		return nil
	}
	return asError([]Problem{c.places.problem("pushes", "is missing: configure at least one push, in a file given by --config or PUSHER_CONFIG")})
}

// DSN returns the push log's URL as the driver wants it: without prepared statements where statement_cache is off.
func (p Postgres) DSN() string {
	u, err := url.Parse(p.URL.Reveal())
	if err != nil || p.StatementCache || u.Query().Has(execMode) {
		return p.URL.Reveal()
	}
	query := u.Query()
	query.Set(execMode, "exec")
	u.RawQuery = query.Encode()
	return u.String()
}

// execMode is pgx's own parameter; "exec" outlives no transaction, so a pooler may change the connection under it.
const execMode = "default_query_exec_mode"
