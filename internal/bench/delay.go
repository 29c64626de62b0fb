package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
)

// The flow under which the delay is measured.
const (
	delayRate  = 500 // events a second
	delayWarm  = 4 * time.Second
	delayFor   = 20 * time.Second
	delayMost  = 25 * time.Millisecond // target of the 99th percentile
	delayLater = 2 * time.Second       // for the last ones
)

// delay measures the time from an event's production to its acceptance by a provider that takes no time: the record's
// own timestamp, in whole milliseconds, to the start of the statement that notes the acceptance.
func delay(ctx context.Context, b *bench) error {
	const stage, topic = "delay", "delay"
	if err := b.makeTopic(ctx, topic); err != nil {
		return err
	}
	r, err := b.room(ctx, topic)
	if err != nil {
		return err
	}
	c, err := b.start(job{role: rolePusher, room: r, action: push.SMS})
	if err != nil {
		return err
	}
	defer c.end()
	from, err := b.steady(ctx, topic)
	if err != nil {
		return err
	}
	wait(ctx, delayLater)
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return fmt.Errorf("reading delays: %w", err)
	}
	defer conn.Close(ctx)
	var n int
	var p50, p99, p999 float64 // seconds
	err = conn.QueryRow(ctx, `SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY d), percentile_cont(0.99) WITHIN GROUP (ORDER BY d),
		percentile_cont(0.999) WITHIN GROUP (ORDER BY d) FROM (SELECT extract(epoch FROM sent_at - record_time)::float8 AS d
		FROM push_log WHERE record_time >= $1 AND status = 'sent') AS sent`, from).Scan(&n, &p50, &p99, &p999)
	if err != nil {
		return fmt.Errorf("reading delays: %w", err)
	}
	if want := int(0.9 * delayRate * delayFor.Seconds()); n < want {
		return fmt.Errorf("only %d deliveries were sent, of at least %d", n, want)
	}
	b.notef(stage, "from produced to sent at 500/s, p50", "%.1f ms", 1000*p50)
	b.held(stage, "from produced to sent at 500/s, p99", fmt.Sprintf("%.1f ms", 1000*p99), "≤ 25 ms", p99 <= delayMost.Seconds())
	b.notef(stage, "from produced to sent at 500/s, p99.9", "%.1f ms", 1000*p999)
	return nil
}

// steady writes events at an even pace, and says from when on they count.
func (b *bench) steady(ctx context.Context, topic string) (from time.Time, err error) {
	writer := &kafka.Writer{
		Addr: kafka.TCP(b.kafka.Addr), Topic: topic, RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond, Async: true,
	}
	began := time.Now()
	for n := 0; ; n++ {
		due := began.Add(time.Duration(n) * time.Second / delayRate)
		if due.Sub(began) > delayWarm+delayFor {
			break
		}
		if pause := time.Until(due); pause > 0 && !wait(ctx, pause) {
			break
		}
		m := kafka.Message{Key: []byte(strconv.Itoa(n)), Value: event(push.SMS, n), Time: time.Now()}
		if err := writer.WriteMessages(ctx, m); err != nil {
			return from, fmt.Errorf("writing events: %w", err)
		}
	}
	return began.Add(delayWarm), writer.Close()
}
