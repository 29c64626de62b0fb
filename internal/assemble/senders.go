package assemble

import (
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
			senders, err := p.senders(action, client)
			if err != nil {
				return nil, fmt.Errorf("making the channel %s: %w", action, err)
			}
			channels[action] = deliver.Channel{
				Senders: senders, Timeout: timeout(p.cfg, action), ResendWithin: p.cfg.Channels.WeChat.ResendWithin,
			}
		}
	}
	return channels, nil
}

// senders makes the senders of one channel, in order of preference.
func (p *Pusher) senders(action push.Action, client redis.UniversalClient) ([]deliver.Sender, error) {
	if s := p.instead[action]; s != nil {
		return []deliver.Sender{p.lane(s, client, "", 0)}, nil
	}
	switch action {
	case push.Notify:
		inbox, err := Notify(p.cfg)
		return []deliver.Sender{channels.Free{Plain: inbox}}, err
	case push.WeChat:
		s, err := WeChat(p.cfg, dedup.NewRation(client, forcedTokens()))
		if err == nil {
			p.metrics.WatchToken(s.TokenAge)
		}
		one, err := held(p, s, err, client, p.cfg.Channels.WeChat.AppID, p.cfg.Channels.WeChat.Rate)
		return []deliver.Sender{one}, err
	case push.SMS:
	}
	var list []deliver.Sender
	for _, name := range p.cfg.Channels.SMS.Providers {
		one, err := p.smsSender(name, client)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// smsSender makes the sender of one SMS provider.
func (p *Pusher) smsSender(name string, client redis.UniversalClient) (deliver.Sender, error) {
	if name == config.ProviderTencent {
		s, err := Tencent(p.cfg, nil)
		return held(p, s, err, client, p.cfg.Channels.SMS.Tencent.SecretID, p.cfg.Channels.SMS.Tencent.Rate)
	}
	s, err := Aliyun(p.cfg)
	return held(p, s, err, client, p.cfg.Channels.SMS.Aliyun.AccessKeyID, p.cfg.Channels.SMS.Aliyun.Rate)
}

// held puts its lane before the sender of a provider's account.
func held[S interface {
	channels.Sender
	Codes() []string
}](p *Pusher, sender S, err error, client redis.UniversalClient, account string, perSecond float64) (deliver.Sender, error) {
	if err != nil {
		return nil, err
	}
	p.metrics.KnowCodes(sender.Provider(), sender.Codes())
	return p.lane(sender, client, account, perSecond), nil
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
