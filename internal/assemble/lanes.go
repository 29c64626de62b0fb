package assemble

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"pusher/internal/channels"
	"pusher/internal/channels/rate"
	"pusher/internal/config"
	"pusher/internal/telemetry"
)

// The calls at a provider that have a rate.
const (
	callSend  = "send"
	callQuery = "query"
)

// rateName names one call of a provider's account in Redis: every installation that uses the account shares it. The
// account's id is not for everybody who may read keys.
func rateName(provider, account, call string) string {
	sum := sha256.Sum256([]byte(account))
	return provider + ":" + hex.EncodeToString(sum[:6]) + ":" + call
}

// lane puts what holds a provider back before its sender, and makes both close with the pusher. perSecond is the rate
// over all instances, 0 for none.
func (p *Pusher) lane(sender channels.Sender, client redis.UniversalClient, account string, perSecond float64) *channels.Lane {
	provider, b := sender.Provider(), p.cfg.Channels.Breaker
	cfg := channels.LaneConfig{
		Slots:   p.cfg.Worker.InFlight,
		Breaker: channels.BreakerConfig{Pause: b.Pause, Share: b.Share, Requests: b.Requests},
		Probe:   p.cfg.Channels.ProbeAfter, Tell: p.laneSays,
	}
	if perSecond > 0 {
		cfg.Pace = rate.New(rate.Config{
			Name: rateName(provider, account, callSend), PerSecond: perSecond, Instance: p.instance, Client: client,
			Changed: func(shared bool, reason error) { p.rateSays(provider, shared, reason) },
		})
		cfg.Waited = p.metrics.RateWaits(provider)
	}
	lane := channels.NewLane(sender, cfg)
	p.lanes = append(p.lanes, lane)
	p.closers.add(provider, func(context.Context) error { lane.Close(); return nil })
	return lane
}

// laneSays logs what happened to a lane: once when its provider fails or stops, once when it is well again.
func (p *Pusher) laneSays(e channels.Event) {
	switch e.Kind {
	case channels.GateShut:
		gate(p.log.Warn(), e).Stringer(telemetry.FieldAgainIn, e.Lasted.Round(time.Second)).
			Msg("the gate is shut: what the provider would refuse is kept back until a probe passes")
	case channels.GateOpened:
		gate(p.log.Info(), e).Stringer(telemetry.FieldLasted, e.Lasted.Round(time.Millisecond)).Msg("the gate is open again")
	case channels.BreakerOpened:
		p.log.Warn().Str(telemetry.FieldProvider, e.Provider).Stringer(telemetry.FieldAgainIn, p.cfg.Channels.Breaker.Pause).
			Msg("the provider fails: nothing is sent to it until it answers again")
	case channels.BreakerClosed:
		p.log.Info().Str(telemetry.FieldProvider, e.Provider).Stringer(telemetry.FieldLasted, e.Lasted).
			Msg("the provider answers again")
	}
}

// gate puts on a line which stop it is about.
func gate(line *zerolog.Event, e channels.Event) *zerolog.Event {
	line.Str(telemetry.FieldProvider, e.Provider).Str(telemetry.FieldScope, string(e.Scope)).Str(telemetry.FieldCode, e.Code)
	if e.BizType != "" {
		line.Str(telemetry.FieldBizType, e.BizType)
	}
	return line
}

// rateSays logs where a provider's rate comes from: once when Redis does not answer, once when it does again.
func (p *Pusher) rateSays(provider string, shared bool, reason error) {
	if shared {
		p.log.Info().Str(telemetry.FieldProvider, provider).Msg("the rate is shared through redis again")
		return
	}
	p.log.Warn().Err(reason).Str(telemetry.FieldProvider, provider).
		Msg("redis does not answer: this process keeps to its share of the rate")
}

// watchLanes shows what the lanes hold.
func (p *Pusher) watchLanes() {
	p.metrics.WatchLanes(func() []telemetry.Lane {
		list := make([]telemetry.Lane, len(p.lanes))
		for i, l := range p.lanes {
			s := l.State()
			list[i] = telemetry.Lane{
				Provider: s.Provider, Breaker: s.Breaker, InFlight: s.InFlight, Limit: s.Limit, Stops: map[string]int{},
			}
			for scope, n := range s.Stops {
				list[i].Stops[string(scope)] = n
			}
			if s.Rate != nil {
				list[i].Limited, list[i].Shared = true, s.Rate.Shared
				list[i].Sharing, list[i].Waiting = s.Rate.Instances, s.Rate.Waiting
			}
		}
		return list
	})
}

// Rates lists, by provider, the requests a second that the configuration lets through over all instances; 0: no limit.
func Rates(c *config.Config) map[string]float64 {
	list := map[string]float64{}
	for _, provider := range c.Channels.SMS.Providers {
		switch provider {
		case config.ProviderAliyun:
			list[provider] = c.Channels.SMS.Aliyun.Rate
		case config.ProviderTencent:
			list[provider] = c.Channels.SMS.Tencent.Rate
		}
	}
	if c.Channels.WeChat.AppID != "" {
		list["wechat"] = c.Channels.WeChat.Rate
	}
	return list
}
