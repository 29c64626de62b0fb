package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"pusher/internal/assemble"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/telemetry"
)

const tutorialTable = `CREATE TABLE IF NOT EXISTS tutorial_log (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text UNIQUE, status text, event json, at timestamptz DEFAULT now())`

// tutorial is the worker of a tutorial: one message at a time, SETNX, insert, send, update, commit.
func tutorial(ctx context.Context, c *config.Config, stand *provider, m *telemetry.Metrics) error {
	client, err := assemble.Redis(ctx, c)
	if err != nil {
		return err
	}
	defer client.Close()
	log, err := pgxpool.New(ctx, c.Postgres.DSN())
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err := log.Exec(ctx, tutorialTable); err != nil {
		return fmt.Errorf("making its table: %w", err)
	}
	cfg := readerConfig(c)
	cfg.CommitInterval = 0 // each commit waits for its answer
	reader := kafka.NewReader(cfg)
	defer reader.Close()
	for {
		record, err := reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		e, err := push.Decode(push.Record{Value: record.Value})
		if err != nil {
			return err
		}
		key := "push:dedup:" + e.BizType + ":" + e.BizID
		if first, err := client.SetNX(ctx, key, 1, 24*time.Hour).Result(); err != nil {
			return err
		} else if first {
			if _, err := log.Exec(ctx, `INSERT INTO tutorial_log (key, status, event) VALUES ($1, 'sending', $2)`, key, record.Value); err != nil {
				return err
			}
			if _, err := stand.Send(ctx, push.Message{BizType: e.BizType, Recipient: e.Recipient.Phone, Vars: e.Vars()}); err != nil {
				return err
			}
			if _, err := log.Exec(ctx, `UPDATE tutorial_log SET status = 'sent' WHERE key = $1`, key); err != nil {
				return err
			}
		}
		if err := reader.CommitMessages(ctx, record); err != nil {
			return err
		}
		m.Row(push.SMS, stand.Provider(), push.Sent)
	}
}
