package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"

	"pusher/internal/dedup"
	"pusher/internal/push"
	"pusher/internal/store"
)

// ceilingFor is how long each ceiling is measured.
const ceilingFor = 3 * time.Second

// readCeiling is what kafka-go reads of a topic, and nothing else.
func (b *bench) readCeiling(ctx context.Context, topic string, n int) (float64, error) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{b.kafka.Addr}, GroupID: "ceiling-" + topic, Topic: topic, StartOffset: kafka.FirstOffset,
		QueueCapacity: 1000, MaxBytes: 1 << 20, MaxWait: time.Second,
	})
	defer reader.Close()
	var began time.Time
	for i := range n {
		if _, err := reader.FetchMessage(ctx); err != nil {
			return 0, fmt.Errorf("reading %s: %w", topic, err)
		}
		if i == 0 {
			began = time.Now()
		}
	}
	return float64(n-1) / time.Since(began).Seconds(), nil
}

// claimCeiling is how many claims of settled keys one connection answers, in pipelines of 300: the duplicates of a
// replay.
func (b *bench) claimCeiling(ctx context.Context, r room) (float64, error) {
	client := redis.NewClient(&redis.Options{Addr: b.redis.Addr, DB: r.redisDB, PoolSize: 1})
	defer client.Close()
	keys := dedup.New(client, 30*time.Second)
	claims := make([]push.Claim, 300)
	record := time.Now()
	settles := make([]push.KeySettle, len(claims))
	for i := range claims {
		id := push.Identity{BizType: "bench", DedupID: strconv.Itoa(i), Action: push.SMS}
		claims[i] = push.Claim{Key: id.Key(), Owner: push.NewOwner(), RecordTime: record, Window: 24 * time.Hour}
		settles[i] = push.KeySettle{
			KeyHold:    push.KeyHold{Key: id.Key(), Owner: claims[i].Owner},
			Settlement: push.Settlement{State: push.KeySuccess, Attempt: 1, At: record}, Window: 24 * time.Hour,
		}
	}
	keys.Claim(ctx, claims)
	for _, a := range keys.Settle(ctx, settles) {
		if a.Err != nil {
			return 0, a.Err
		}
	}
	began, n := time.Now(), 0
	for time.Since(began) < ceilingFor {
		for i := range claims {
			claims[i].Owner = push.NewOwner()
		}
		for _, g := range keys.Claim(ctx, claims) {
			if g.Err != nil || g.Verdict != push.Duplicate {
				return 0, fmt.Errorf("claiming a settled key: verdict %v, %w", g.Verdict, g.Err)
			}
			n++
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// rowCeiling is how many rows one connection writes with the statements of an intent, and then of a result.
func (b *bench) rowCeiling(ctx context.Context, r room) (intents, results float64, err error) {
	log, err := store.Open(ctx, store.Config{URL: r.database, MaxConns: 2})
	if err != nil {
		return 0, 0, err
	}
	defer log.Close()
	var tookIntents, tookResults time.Duration
	n := 0
	for began := time.Now(); time.Since(began) < ceilingFor; {
		list := make([]push.Intent, 300)
		for i := range list {
			if list[i], err = intentOf(n + i); err != nil {
				return 0, 0, err
			}
		}
		from := time.Now()
		done := make([]push.Result, len(list))
		for i, a := range log.Intend(ctx, list) {
			if a.Err != nil {
				return 0, 0, a.Err
			}
			done[i] = push.Result{
				ID: a.Row.ID, Owner: list[i].Owner, Attempt: 1, Class: push.Accepted, Provider: "aliyun", MessageID: fmt.Sprint("ceiling-", n+i),
			}
		}
		tookIntents += time.Since(from)
		from = time.Now()
		for _, a := range log.Record(ctx, done) {
			if a.Err != nil {
				return 0, 0, a.Err
			}
		}
		tookResults += time.Since(from)
		n += len(list)
	}
	return float64(n) / tookIntents.Seconds(), float64(n) / tookResults.Seconds(), nil
}

// intentOf is the intent of the n-th event, as SMS.
func intentOf(n int) (push.Intent, error) {
	e, err := push.Decode(push.Record{Value: event(push.SMS, n)})
	if err != nil {
		return push.Intent{}, err
	}
	return push.Intent{
		Delivery: &push.Delivery{
			Identity: push.Identity{BizType: e.BizType, RuleVersion: "v1", DedupID: e.BizID, Action: push.SMS},
			BizID:    e.BizID, Event: e, Origin: push.Origin{Topic: "ceiling", Offset: int64(n), Time: time.Now()}, Window: 24 * time.Hour,
		},
		Owner: push.NewOwner(), Lease: 30 * time.Second, Provider: "aliyun", Recipient: push.Mask(e.Recipient.Phone),
		RecipientHash: push.HashRecipient(e.Recipient.Phone, []byte("bench-bench-bench-bench")), RecipientFull: "+86" + e.Recipient.Phone,
		MaxAttempts: 8, Worker: "ceiling",
	}, nil
}
