package protocol

import (
	"strconv"
	"time"

	"pusher/internal/dedup"
	"pusher/internal/push"
)

// ageKey moves the key's times and its life into the past.
func (w *world) ageKey(by time.Duration) {
	key, ms := w.id().Key(), by.Milliseconds()
	for _, field := range []string{"l", "t"} {
		if w.redis.HExists(w.ctx(), key, field).Val() {
			w.must(w.redis.HIncrBy(w.ctx(), key, field, -ms).Err())
		}
	}
	if ttl := w.redis.PTTL(w.ctx(), key).Val(); ttl > 0 {
		w.must(w.redis.PExpire(w.ctx(), key, max(ttl-by, 0)).Err())
	}
	if w.snapshot != nil {
		w.snapshot.age(ms)
	}
	for _, l := range w.looks {
		l.stale = true // its text has the old times: to the script, and so to the model, the key has changed
	}
}

// claim asks for the key, in the model and in reality, and checks that both say the same.
func (w *world) claim(x *worker) push.Grant {
	w.Helper()
	c := push.Claim{Key: w.id().Key(), Owner: x.owner, Retry: x.intent.Retry, RecordTime: x.intent.RecordTime, Window: w.Window}
	want := w.key.Claim(c, w.Lease, w.now)
	c.RecordTime = w.realTime(c.RecordTime)
	got := w.keys.Claim(w.ctx(), []push.Claim{c})[0]
	w.must(got.Err)
	if got.Verdict != want.Verdict || got.Before != want.Before || got.Attempt != want.Attempt {
		w.Fatalf("the claim of %s was answered %+v, want %+v", x, got, want)
	}
	return got
}

// settle makes the key say what the worker was told of the row.
func (w *world) settle(x *worker) {
	w.Helper()
	hold, said := push.KeyHold{Key: w.id().Key(), Owner: x.owner}, x.row.Settlement()
	seen, err := w.keys.Inspect(w.ctx(), hold.Key)
	w.must(err)
	answer := w.keys.Settle(w.ctx(), []push.KeySettle{{KeyHold: hold, Settlement: said, Window: w.Window}})[0]
	w.must(answer.Err)
	held := w.key.Held(x.owner)
	want := w.key.Settle(x.owner, w.settlementOf(x.row), w.Window, w.now)
	if !held && said.State != push.KeyAbsent && seen.SettledAt.UnixMilli() != said.At.UnixMilli() {
		want = false // a row that changed twice in one minute has two times, which are one to the model
	}
	if answer.Mine != want {
		w.Fatalf("%s settles the key and is answered %v, want %v", x, answer.Mine, want)
	}
}

// settlementOf is rule K1 by the model, for a row that reality told.
func (w *world) settlementOf(r push.Row) push.Settlement {
	told := Row{Status: r.Status, Attempt: r.Attempt, UpdatedAt: w.modelTime(r.UpdatedAt).Round(time.Minute)}
	if !r.SettledAt.IsZero() {
		told.UpdatedAt = w.modelTime(r.SettledAt).Round(time.Minute)
	}
	return told.Settlement()
}

func (w *world) release(x *worker) {
	w.Helper()
	answer := w.keys.Release(w.ctx(), []push.KeyHold{{Key: w.id().Key(), Owner: x.owner}})[0]
	w.must(answer.Err)
	if want := w.key.Release(x.owner); answer.Mine != want {
		w.Fatalf("%s releases the key and is answered %v, want %v", x, answer.Mine, want)
	}
}

func (w *world) renewKey(x *worker) {
	w.Helper()
	answer := w.keys.Renew(w.ctx(), []push.KeyHold{{Key: w.id().Key(), Owner: x.owner}})[0]
	w.must(answer.Err)
	if want := w.key.Renew(x.owner, w.Lease, w.now); answer.Mine != want {
		w.Fatalf("the renewal of %s's key was answered %v, want %v", x, answer.Mine, want)
	}
}

// forget is a Redis that lost the key: FLUSHALL, an eviction, a failover.
func (w *world) forget() {
	w.must(w.redis.Del(w.ctx(), w.id().Key()).Err())
	w.key = Absent()
}

// setBack is a Redis whose clock went back: the lease seems to end later than any lease can.
func (w *world) setBack() {
	if w.key.State == push.KeyProcessing {
		const step = 61*time.Minute + 30*time.Second
		w.must(w.redis.HIncrBy(w.ctx(), w.id().Key(), "l", step.Milliseconds()).Err())
		w.key.LeaseEnd = w.key.LeaseEnd.Add(step)
	}
}

// snapshot is a copy of the key, such as a replica has that lacks the last writes.
type snapshot struct {
	model  Key
	fields map[string]string
	ttl    time.Duration
}

func (s *snapshot) age(ms int64) {
	for _, field := range []string{"l", "t"} {
		if n, err := strconv.ParseInt(s.fields[field], 10, 64); err == nil {
			s.fields[field] = strconv.FormatInt(n-ms, 10)
		}
	}
	s.ttl -= time.Duration(ms) * time.Millisecond
}

// remember copies the key; goBack puts the copy in its place.
func (w *world) remember() {
	if w.key.State == push.KeyAbsent {
		return
	}
	fields, err := w.redis.HGetAll(w.ctx(), w.id().Key()).Result()
	w.must(err)
	w.snapshot = &snapshot{model: w.key, fields: fields, ttl: w.redis.PTTL(w.ctx(), w.id().Key()).Val()}
}

func (w *world) goBack() {
	if w.snapshot == nil {
		return
	}
	w.forget()
	pipe := w.redis.TxPipeline()
	pipe.HSet(w.ctx(), w.id().Key(), w.snapshot.fields)
	pipe.PExpire(w.ctx(), w.id().Key(), w.snapshot.ttl)
	_, err := pipe.Exec(w.ctx())
	w.must(err)
	w.key = w.snapshot.model
}

// look is a repair under way (rule Q8): the key was read, then perhaps the row.
type look struct {
	seen    dedup.KeyInfo
	model   Key
	row     push.Row
	rowRead bool
	stale   bool
}

// repair makes the next step of a repair: read the key, read the row, put the key right.
func (w *world) repair() {
	w.Helper()
	if len(w.looks) == 0 {
		seen, err := w.keys.Inspect(w.ctx(), w.id().Key())
		w.must(err)
		w.looks = []*look{{seen: seen, model: w.key}}
		return
	}
	l := w.looks[0]
	if !l.rowRead {
		answer := w.store.Look(w.ctx(), []push.Lookup{{Identity: w.id()}})[0]
		w.must(answer.Err)
		l.row, l.rowRead = answer.Row, true
		return
	}
	w.looks = nil
	if l.stale || !l.row.Exists() || l.row.Status == push.Sending {
		return
	}
	repair := dedup.Repair{Seen: l.seen, Settlement: l.row.Settlement(), Window: w.Window}
	w.must(w.keys.Repair(w.ctx(), []dedup.Repair{repair})[0].Err)
	w.key.Repair(l.model, w.settlementOf(l.row), w.Rules, w.now)
}

// inspectKey checks that the key is as the model says.
func (w *world) inspectKey() {
	w.Helper()
	info, err := w.keys.Inspect(w.ctx(), w.id().Key())
	w.must(err)
	k := w.key
	if info.State != k.State || info.Owner != k.Owner || info.Earlier != k.Earlier || (info.LeaseLeft > 0) != k.Running(w.Lease, w.now) ||
		info.State != push.KeyAbsent && info.Attempt != k.Attempt {
		w.Fatalf("the key says %+v, want %+v", info, k)
	}
	if k.State > push.KeyProcessing && !w.near(&info.SettledAt, k.At) {
		w.Fatalf("the key settled at %v, want %v", w.modelTime(info.SettledAt), k.At)
	}
	if k.State != push.KeyAbsent && info.TTL <= 0 {
		w.Fatalf("invariant (f): a key without TTL: %+v", info)
	}
}
