package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"pusher/internal/dedup"
	"pusher/internal/gateway"
	"pusher/internal/push"
)

// The traffic at the front door.
const (
	doorClients = 16 // that post one after the other
	doorWarm    = 500 * time.Millisecond
	doorFor     = 3 * time.Second
	doorBatch   = 100
	doorLeast   = 20_000 // target of batches, events a second
)

// errDoor says that the front door did not answer as it should.
var errDoor = errors.New("an answer that is none of success")

// door is a gateway in a process of its own, and a producer that it lets in.
type door struct {
	url    string
	secret string
	client *http.Client
	next   atomic.Int64 // the number of the next event
}

// traffic is one kind of requests: how many events each has, and what tells repeats.
type traffic struct {
	what   string
	events int
	by     string // header that tells repeats; empty: the events' fingerprints
	again  bool   // each client posts the same over and over
}

// atTheDoor measures the front door, its clients on the same processors, and what a guard costs around any call.
func atTheDoor(ctx context.Context, b *bench) error {
	const stage = "gateway"
	d, leave, err := b.door(ctx, stage)
	if err != nil {
		return err
	}
	defer leave()
	for _, t := range []traffic{
		{"batches of 100, by Idempotency-Key", doorBatch, dedup.HeaderKey, false},
		{"batches of 100, by fingerprint", doorBatch, "", false},
		{"batches of 100, by token, each got before", doorBatch, gateway.HeaderToken, false},
		{"single events, by Idempotency-Key", 1, dedup.HeaderKey, false},
		{"single events, by fingerprint", 1, "", false},
		{"duplicates only, batches of 100, by Idempotency-Key", doorBatch, dedup.HeaderKey, true},
		{"duplicates only, batches of 100, by fingerprint", doorBatch, "", true},
		{"duplicates only, single events, by Idempotency-Key", 1, dedup.HeaderKey, true},
	} {
		rate, p50, p99, err := d.load(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.what, err)
		}
		figure := fmt.Sprintf("%.0f events/s", rate)
		if t.events == doorBatch && !t.again {
			b.held(stage, t.what, figure, fmt.Sprintf("≥ %d events/s", doorLeast), rate >= doorLeast)
		} else {
			b.notef(stage, t.what, "%s", figure)
		}
		if t.events == 1 && !t.again {
			b.notef(stage, t.what+", p50 and p99 of an answer", "%.1f and %.1f ms", p50, p99)
		}
	}
	return b.guard(ctx, stage)
}

// door starts a gateway on a topic and a Redis database of its own. leave ends it.
func (b *bench) door(ctx context.Context, topic string) (d *door, leave func(), err error) {
	if err := b.makeTopic(ctx, topic); err != nil {
		return nil, nil, err
	}
	b.rooms++
	r := room{topic: topic, redisDB: b.rooms, group: topic}
	d = &door{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: doorClients}}}
	var entry string
	d.secret, entry = gateway.NewCredential("bench")
	c, err := b.start(job{role: roleGateway, room: r, action: push.SMS, producer: entry})
	if err != nil {
		return nil, nil, err
	}
	leave = func() {
		d.client.CloseIdleConnections()
		c.end()
		keys := b.keys(r)
		_ = keys.FlushDB(context.WithoutCancel(ctx)).Err() // the server ends with the run
		_ = keys.Close()
	}
	d.url = "http://" + c.http
	for { // the topic's leaders, and the door itself
		if err = d.post(ctx, traffic{events: 1}, event(push.SMS, -1), ""); err == nil {
			return d, leave, nil
		}
		if _, gone := c.sample(ctx); gone != nil || !wait(ctx, sampleEvery) {
			leave()
			return nil, nil, errors.Join(err, gone)
		}
	}
}

// load posts from all clients at once and counts what is answered once they are warm: events a second, and how long
// answers took, in milliseconds.
func (d *door) load(ctx context.Context, t traffic) (rate, p50, p99 float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, doorWarm+doorFor)
	defer cancel()
	from := time.Now().Add(doorWarm)
	var answered atomic.Int64
	took := make([][]float64, doorClients)
	group, posting := errgroup.WithContext(ctx)
	for c := range doorClients {
		group.Go(func() error {
			body, name := d.compose(t)
			for {
				if !t.again {
					body, name = d.compose(t)
				}
				if err := d.name(posting, t, &name); err != nil {
					return err
				}
				began := time.Now()
				if err := d.post(posting, t, body, name); err != nil {
					return err
				}
				if began.After(from) {
					answered.Add(int64(t.events))
					took[c] = append(took[c], float64(time.Since(began).Microseconds())/1000)
				}
			}
		})
	}
	if err := group.Wait(); ctx.Err() == nil { // before the time was over
		return 0, 0, 0, err
	}
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) == 0 {
		return 0, 0, 0, errDoor
	}
	return float64(answered.Load()) / doorFor.Seconds(), all[len(all)/2], all[len(all)*99/100], nil
}

// compose makes the body of a request of new events, and its name.
func (d *door) compose(t traffic) (body []byte, name string) {
	first := int(d.next.Add(int64(t.events)))
	body = append(body, '[')
	for i := range t.events {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, event(push.SMS, first+i)...)
	}
	return append(body, ']'), strconv.Itoa(first)
}

// name puts a token of the gateway's in the place of a request's name, where tokens tell repeats.
func (d *door) name(ctx context.Context, t traffic, name *string) error {
	if t.by != gateway.HeaderToken {
		return nil
	}
	text, err := d.ask(ctx, "/v1/tokens", nil, http.StatusCreated, nil)
	if err != nil {
		return err
	}
	var issued struct{ Token string }
	err = json.Unmarshal(text, &issued)
	*name = issued.Token
	return err
}

// post has a body accepted.
func (d *door) post(ctx context.Context, t traffic, body []byte, name string) error {
	header := http.Header{"Content-Type": {"application/json"}}
	if t.by != "" {
		header.Set(t.by, name)
	}
	_, err := d.ask(ctx, "/v1/events", body, http.StatusAccepted, header)
	return err
}

// ask posts and wants an answer of this status.
func (d *door) ask(ctx context.Context, path string, body []byte, status int, header http.Header) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("Authorization", "Bearer "+d.secret)
	res, err := d.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != status {
		err = fmt.Errorf("%w: %d %.300s", errDoor, res.StatusCode, text)
	}
	return text, err
}
