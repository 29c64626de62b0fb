package consume_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pusher/internal/consume"
	"pusher/internal/push"
	"pusher/internal/testbed"
)

func frontProducer(t *testing.T, brokers ...string) *consume.Producer {
	t.Helper()
	p, err := consume.NewFrontProducer(consume.Cluster{Brokers: brokers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = p.Close(ctx)
	})
	return p
}

func TestEachRecordHasItsOwnAnswer(t *testing.T) {
	t.Parallel()
	k := realKafka(t).with(1)
	configure(t, k.brokers, k.main, "max.message.bytes", "100000")
	p := frontProducer(t, k.brokers...)
	pad := string(noise(60_000))
	batch := records(k.main, "small", pad, string(noise(120_000)), pad)
	errs := p.Each(t.Context(), batch)
	for i, want := range []bool{true, true, false, true} {
		if (errs[i] == nil) != want {
			t.Errorf("record %d: %v", i, errs[i])
		}
	}
	if !errors.Is(errs[2], push.ErrOversized) || !errors.Is(errs[2], push.ErrUnwritten) {
		t.Errorf("the record over the limit: %v", errs[2])
	}
	if err := p.Each(t.Context(), records("no-such-topic", "v"))[0]; !errors.Is(err, push.ErrUnwritten) {
		t.Errorf("a topic that is not there: %v", err)
	}
	if p.Reach(t.Context(), k.main) != nil || p.Reach(t.Context(), "no-such-topic") == nil {
		t.Errorf("reach: %v, %v", p.Reach(t.Context(), k.main), p.Reach(t.Context(), "no-such-topic"))
	}
	k.readAll(t, k.main, 3)
}

func TestKafkaAwayIsProofThatNothingIsWritten(t *testing.T) {
	t.Parallel()
	own := testbed.OwnKafka(t)
	k := named(t, []string{own.Addr}, func(topic string, n int) { testbed.MakeTopic(t, own.Addr, topic, n) }).with(1)
	p := frontProducer(t, own.Addr)
	if err := p.Each(t.Context(), records(k.main, "before"))[0]; err != nil {
		t.Fatal(err)
	}
	own.Stop()
	eventually(t, "the write is refused with proof", func() bool { // the first may meet the broken connection
		return errors.Is(p.Each(t.Context(), records(k.main, "lost"))[0], push.ErrUnwritten)
	})
	if p.Reach(t.Context(), k.main) == nil {
		t.Error("reached a broker that is away")
	}
	own.Start()
	eventually(t, "it is written again", func() bool { return p.Each(t.Context(), records(k.main, "after"))[0] == nil })
}

func TestAWriteWithoutAnswerIsNoProof(t *testing.T) {
	t.Parallel()
	k, hole := holed(t)
	p := frontProducer(t, k.brokers...)
	if err := p.Each(t.Context(), records(k.main, "before"))[0]; err != nil {
		t.Fatal(err)
	}
	hole.dig()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := p.Each(ctx, records(k.main, "v"))[0]; err == nil || errors.Is(err, push.ErrUnwritten) {
		t.Errorf("got %v", err)
	}
}
