package bench

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"pusher/internal/channels"
	"pusher/internal/config"
	"pusher/internal/push"
)

// provider is an SMS provider in this very process: it renders its template, waits, and accepts.
type provider struct {
	latency time.Duration
	texts   map[string]map[string]*channels.Text // by biz_type, then by variable
	last    atomic.Int64                         // numbers its messages
	seen    func(push.Message)                   // nil: nobody watches
}

// newProvider compiles the templates of every push that sends SMS.
func newProvider(c *config.Config, latency time.Duration) (*provider, error) {
	p := &provider{latency: latency, texts: map[string]map[string]*channels.Text{}}
	for name, configured := range c.Pushes {
		if sms := configured.Actions.SMS; sms != nil {
			texts, err := channels.CompileAll(name, sms.AliyunParams())
			if err != nil {
				return nil, err
			}
			p.texts[name] = texts
		}
	}
	return p, nil
}

// Provider is the name of the provider that it stands for.
func (p *provider) Provider() string { return config.ProviderAliyun }

// Serves reports whether it has a template for the push.
func (p *provider) Serves(bizType string) bool { return p.texts[bizType] != nil }

// Close does nothing.
func (p *provider) Close() {}

// Send accepts after the latency.
func (p *provider) Send(ctx context.Context, m push.Message) (push.Acceptance, error) {
	if p.seen != nil {
		p.seen(m)
	}
	if p.latency > 0 {
		timer := time.NewTimer(p.latency)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return push.Acceptance{}, &push.Failure{Class: push.Ambiguous, Code: "timeout", Err: ctx.Err()}
		}
	}
	return p.accept(m)
}

// accept renders what would be sent, and takes it.
func (p *provider) accept(m push.Message) (push.Acceptance, error) {
	for _, text := range p.texts[m.BizType] {
		if _, err := text.Render(m.Vars); err != nil {
			return push.Acceptance{}, err
		}
	}
	return push.Acceptance{Provider: p.Provider(), MessageID: "bench-" + strconv.FormatInt(p.last.Add(1), 36)}, nil
}
