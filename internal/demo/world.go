package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"pusher/internal/config"
	"pusher/internal/gateway"
	"pusher/internal/sandbox/embedded"
	"pusher/internal/sandbox/provider"
	"pusher/internal/store"
)

// partitions of each topic: enough for two instances to share.
const partitions = 4

// DemoToken signs in to the demo's console. It opens nothing else, and its door listens on this machine only.
const DemoToken = "demo-operator-token"

// world is everything around the pushers.
type world struct {
	cfg     *config.Config
	sandbox *provider.Sandbox
	redis   *embedded.RedisServer
	closers []func() error

	credential string // of the producers at the gateway
}

// newWorld starts the services, each on a free port, and configures the product for them.
func newWorld(ctx context.Context, seed uint64) (w *world, err error) {
	w = &world{cfg: settings()}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	broker, err := embedded.Kafka(ctx,
		embedded.Topic{Name: w.cfg.Kafka.Topic, Partitions: partitions},
		embedded.Topic{Name: w.cfg.Kafka.RetryTopic, Partitions: partitions},
		embedded.Topic{Name: w.cfg.Kafka.DeadLetterTopic, Partitions: 1})
	if err != nil {
		return w, fmt.Errorf("starting Kafka: %w", err)
	}
	w.closers = append(w.closers, broker.Close)
	if w.redis, err = embedded.Redis(ctx); err != nil {
		return w, fmt.Errorf("starting Redis: %w", err)
	}
	w.closers = append(w.closers, w.redis.Close)
	postgres, err := embedded.Postgres(ctx)
	if err != nil {
		return w, fmt.Errorf("starting PostgreSQL: %w", err)
	}
	w.closers = append(w.closers, postgres.Close)
	if w.sandbox, err = provider.New(provider.Config{Seed: seed, Faults: faults()}); err != nil {
		return w, err
	}
	if err := w.sandbox.Start("127.0.0.1:0"); err != nil {
		return w, err
	}
	w.closers = append(w.closers, w.sandbox.Close)

	w.cfg.Kafka.Brokers = []string{broker.Addr}
	w.cfg.Redis.Addrs = []string{w.redis.Addr}
	secret, entry := gateway.NewCredential("demo")
	w.credential, w.cfg.Gateway.Producers = secret, []string{entry}
	w.cfg.Gateway.TokenKey = config.Secret(rand.Text() + rand.Text())
	w.cfg.Postgres.URL = config.Secret(postgres.URL)
	w.cfg.Channels.SMS.Aliyun.Endpoint = w.sandbox.URL()
	w.cfg.Channels.WeChat.Endpoint = w.sandbox.URL()
	_, err = store.Migrate(ctx, postgres.URL)
	return w, err
}

// close ends the services in reverse.
func (w *world) close() error {
	var failed []error
	for _, shut := range slices.Backward(w.closers) {
		failed = append(failed, shut())
	}
	w.closers = nil
	return errors.Join(failed...)
}

// settings is the product's configuration, with everything that takes minutes in production taking seconds.
func settings() *config.Config {
	c := config.Default()
	c.HTTP.Addr, c.Gateway.Addr = "127.0.0.1:0", "127.0.0.1:0"
	c.HTTP.OperatorToken = DemoToken
	c.Worker.InFlight, c.Worker.Waiting, c.Worker.Grace = 128, 256, 20*time.Second
	c.Dedup.Lease = 6 * time.Second
	c.Redis.Timeout = 5 * time.Second // the embedded one interprets each script anew
	c.Retry.First, c.Retry.Factor, c.Retry.Max = time.Second, 1.5, 4*time.Second
	c.Channels.Notify.Timeout = time.Second
	c.Channels.SMS.Timeout, c.Channels.SMS.AskFor = time.Second, 30*time.Second
	c.Channels.SMS.Providers = []string{config.ProviderAliyun}
	c.Channels.SMS.Aliyun.AccessKeyID = provider.DefaultKeyID
	c.Channels.SMS.Aliyun.AccessKeySecret = provider.DefaultSecret
	c.Channels.SMS.Aliyun.SignName = "Demo"
	c.Channels.WeChat.Timeout = time.Second
	c.Channels.WeChat.AppID = provider.DefaultKeyID
	c.Channels.WeChat.AppSecret = provider.DefaultSecret
	c.Privacy.HashKey = "demo"
	c.Pushes = map[string]config.Push{"resume_viewed": {
		Version: "v1",
		Dedup:   config.PushDedup{By: config.By{"biz_id"}, Window: c.Dedup.Window},
		Actions: config.PushActions{
			Notify: &config.NotifyTemplate{Title: "Your resume was viewed", Body: "{{.company}} viewed your resume for {{.position}}"},
			SMS: &config.SMSTemplates{Aliyun: &config.AliyunTemplate{
				Template: "SMS_10001", Params: map[string]string{"company": "{{.company}}"},
			}},
			WeChat: &config.WeChatTemplate{
				Template: "TPL1", URL: "https://example.com/r/{{.biz_id}}",
				Data: map[string]string{"thing1": "{{.company}}", "thing2": "{{.position}}"},
			},
		},
	}}
	return c
}

// faults is what the providers do wrong: shares of the deliveries, each met at its first request or two.
func faults() []provider.Fault {
	return []provider.Fault{
		{Provider: provider.Aliyun, Recipient: barredPhone, Kind: provider.Refuse, Code: "isv.BLACK_KEY_CONTROL_LIMIT"},
		{Provider: provider.WeChat, Recipient: barredOpenID, Kind: provider.Refuse, Code: "43004", Message: "require subscribe"},
		{Provider: provider.Aliyun, Share: .05, Each: 1, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR", Message: "busy"},
		{Provider: provider.Aliyun, Share: .02, Each: 2, Kind: provider.Refuse, Code: "isp.GATEWAY_ERROR", Message: "busy"},
		{Provider: provider.Aliyun, Share: .02, Each: 1, Kind: provider.AcceptThenStall},
		{Provider: provider.Aliyun, Share: .01, Each: 1, Kind: provider.AcceptThenReset},
		{Provider: provider.WeChat, Share: .03, Each: 1, Kind: provider.Refuse, Code: "-1", Message: "system error"},
		{Provider: provider.WeChat, Share: .02, Each: 1, Kind: provider.AcceptThenStall},
		{Kind: provider.Latency, Delay: provider.Duration(5 * time.Millisecond)},
	}
}
