package deliver

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"pusher/internal/push"
)

// instant is Redis and PostgreSQL that grant everything within a millisecond, in which batches form.
type instant struct{}

func every[Q, A any](asks []Q, one func(Q) A) []A {
	time.Sleep(time.Millisecond)
	answers := make([]A, len(asks))
	for i, q := range asks {
		answers[i] = one(q)
	}
	return answers
}

func mine[Q any](asks []Q) []push.KeyAnswer {
	return every(asks, func(Q) push.KeyAnswer { return push.KeyAnswer{Mine: true} })
}

func row[Q any](asks []Q) []push.Answer {
	return every(asks, func(Q) push.Answer { return push.Answer{} })
}

func (instant) Claim(_ context.Context, claims []push.Claim) []push.Grant {
	return every(claims, func(push.Claim) push.Grant { return push.Grant{Verdict: push.Granted, Before: push.KeyAbsent} })
}
func (instant) Settle(_ context.Context, asks []push.KeySettle) []push.KeyAnswer { return mine(asks) }
func (instant) Release(_ context.Context, asks []push.KeyHold) []push.KeyAnswer  { return mine(asks) }
func (instant) Renew(_ context.Context, asks []push.KeyHold) []push.KeyAnswer    { return mine(asks) }

func (instant) Intend(_ context.Context, intents []push.Intent) []push.Answer {
	return every(intents, func(in push.Intent) push.Answer {
		return push.Answer{Row: push.Row{ID: 1, Round: 1, Attempt: 1, Status: push.Sending, Owner: in.Owner, Provider: in.Provider}}
	})
}
func (instant) UndoLost(_ context.Context, asks []push.Intent) []push.Answer { return row(asks) }
func (instant) Look(_ context.Context, asks []push.Lookup) []push.Answer     { return row(asks) }

// written is instant as Results.
type written struct{}

func (written) Record(_ context.Context, results []push.Result) []push.Answer {
	return every(results, func(r push.Result) push.Answer {
		return push.Answer{Row: push.Row{ID: r.ID, Round: 1, Attempt: r.Attempt, Status: push.Sent, Owner: r.Owner, Provider: r.Provider}}
	})
}
func (written) Undo(_ context.Context, asks []push.Held) []push.Answer     { return row(asks) }
func (written) Repeat(_ context.Context, asks []push.Held) []push.Answer   { return row(asks) }
func (written) Switch(_ context.Context, asks []push.Switch) []push.Answer { return row(asks) }
func (written) Renew(_ context.Context, asks []push.Held) []push.KeyAnswer { return mine(asks) }

// accepting is a sender that takes everything at once.
type accepting struct{ channel }

func (accepting) Send(context.Context, push.Message) (push.Acceptance, error) {
	return push.Acceptance{Provider: "aliyun", MessageID: "m1"}, nil
}

// BenchmarkDelivery is what the pipeline itself costs from record to settle. One turn is one delivery.
func BenchmarkDelivery(b *testing.B) {
	for _, action := range []push.Action{push.SMS, push.Notify} {
		b.Run(string(action), func(b *testing.B) {
			w := newWorld()
			cfg := w.config()
			cfg.InFlight, cfg.Waiting, cfg.WaitingBytes = 1024, 4096, 64<<20
			cfg.Channels[action] = Channel{Senders: []Sender{accepting{channel{w}}}, Timeout: time.Second}
			d := New(cfg, instant{}, instant{}, written{})
			records := make([]push.Record, b.N)
			for i := range records {
				records[i] = record(string(action))
				records[i].Value = []byte(`{"biz_type":"viewed","biz_id":` + strconv.Itoa(i) + `,"actions":["` + string(action) +
					`"],"recipient":{"user_id":"u1","phone":"13800138000"},"params":{"company":"ACME"}}`)
			}
			var all sync.WaitGroup
			all.Add(len(records))
			b.ReportAllocs()
			b.ResetTimer()
			for _, r := range records {
				err := d.Handle(b.Context(), r, func(err error) {
					if err != nil {
						b.Errorf("done with %v", err)
					}
					all.Done()
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			all.Wait()
			b.StopTimer()
			if err := d.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
