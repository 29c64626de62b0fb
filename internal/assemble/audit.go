package assemble

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pusher/internal/config"
	"pusher/internal/consume"
	"pusher/internal/dedup"
	"pusher/internal/deliver"
	"pusher/internal/operate"
	"pusher/internal/push"
	"pusher/internal/store"
)

// Aliyun lists a message within moments; a quarter of an hour later it certainly does.
const listedAfter = 15 * time.Minute

// Audit compares Kafka, the push log, the dedup keys, and where a provider is named (aliyun, tencent) what that took, over
// [from, to). It changes nothing and joins no group.
func Audit(ctx context.Context, c *config.Config, log *store.Store, provider string, from, to time.Time) (report operate.Report, err error) {
	cluster, err := Cluster(c)
	if err != nil {
		return report, err
	}
	survey, err := consume.NewSurvey(cluster, c.Kafka.Group)
	if err != nil {
		return report, err
	}
	defer survey.Close()
	reach, err := redisOf(c)
	if err != nil {
		return report, err
	}
	client, err := dedup.Open(reach)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	known := pushes(c)
	cfg := operate.AuditConfig{
		Topic: c.Kafka.Topic, RetryTopic: c.Kafka.RetryTopic, DeadLetterTopic: c.Kafka.DeadLetterTopic,
		Expected: func(r push.Record) ([]*push.Delivery, error) {
			return deliver.Expected(known, c.Kafka.RetryTopic, c.Dedup.Window, r)
		},
		Region: c.Phone.Region, Settled: 2 * c.Dedup.Lease, Now: time.Now, ListedAfter: listedAfter, Provider: provider,
	}
	ports := operate.AuditPorts{Source: survey, Ledger: log, Keys: deskKeys{dedup.New(client, c.Dedup.Lease)}}
	switch provider {
	case "":
	case "aliyun":
		s, err := Aliyun(c)
		if err != nil {
			return report, err
		}
		defer s.Close()
		ports.Counter, cfg.Conclusive = s, true
	case "tencent":
		questions := tencentQuestions(client, c.Channels.SMS.Tencent.SecretID)
		defer questions.Close()
		s, err := Tencent(c, questions)
		if err != nil {
			return report, err
		}
		defer s.Close()
		ports.Counter = s
	default:
		return report, fmt.Errorf("%q is no provider that can be asked: aliyun or tencent", provider)
	}
	return operate.Audit(ctx, cfg, ports, from, to)
}
