package assemble

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/channels"
	"pusher/internal/config"
	"pusher/internal/dedup"
	"pusher/internal/deliver"
	"pusher/internal/push"
)

// forcedTokens is what WeChat allows an account: 20 in a day, 30 seconds apart, with a margin for what is on its way.
func forcedTokens() dedup.RationConfig {
	return dedup.RationConfig{Name: "wechat-token", Most: 20, Period: 24 * time.Hour, Apart: 35 * time.Second}
}

// channels makes the sender of every channel that some push uses.
func (p *Pusher) channels(client redis.UniversalClient) (map[push.Action]deliver.Channel, error) {
	channels := map[push.Action]deliver.Channel{}
	for _, configured := range p.cfg.Pushes {
		for _, action := range configured.Actions.List() {
			if _, made := channels[action]; made {
				continue
			}
			sender, err := p.sender(action, client)
			if err != nil {
				return nil, fmt.Errorf("making the channel %s: %w", action, err)
			}
			channels[action] = deliver.Channel{
				Sender: sender, Timeout: timeout(p.cfg, action), ResendWithin: p.cfg.Channels.WeChat.ResendWithin,
			}
		}
	}
	return channels, nil
}

// sender makes the sender of one channel. Of the SMS providers it is the first: which one sends is decided once.
func (p *Pusher) sender(action push.Action, client redis.UniversalClient) (deliver.Sender, error) {
	switch {
	case action == push.Notify:
		return Notify(p.cfg)
	case action == push.WeChat:
		s, err := WeChat(p.cfg, dedup.NewRation(client, forcedTokens()))
		return closing(p, s, err)
	case p.cfg.Channels.SMS.Providers[0] == config.ProviderTencent:
		s, err := Tencent(p.cfg)
		return closing(p, s, err)
	default:
		s, err := Aliyun(p.cfg)
		return closing(p, s, err)
	}
}

// closing puts the gate before a sender of a provider and makes both close with the pusher.
func closing[S interface {
	deliver.Sender
	Close()
}](p *Pusher, sender S, err error) (deliver.Sender, error) {
	if err != nil {
		return nil, err
	}
	p.closers.add(sender.Provider(), func(context.Context) error { sender.Close(); return nil })
	return channels.NewGate(sender, time.Now), nil
}

// timeout is that of one request.
func timeout(c *config.Config, action push.Action) time.Duration {
	switch action {
	case push.WeChat:
		return c.Channels.WeChat.Timeout
	case push.SMS:
		return c.Channels.SMS.Timeout
	case push.Notify:
	}
	return c.Channels.Notify.Timeout
}
