package store_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pusher/internal/push"
)

func TestManyIntendTheSameDeliveryAtOnceAndOneMaySend(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	const workers, deliveries = 24, 20
	may := make([]int, deliveries)
	var mu sync.Mutex // guards may
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() { // the test waits for it below
			owner := fmt.Sprintf("w%d", w)
			intents := make([]push.Intent, deliveries)
			for d := range intents {
				intents[d] = intend(owner, about(strconv.Itoa((d+w)%deliveries)))
			}
			for d, answer := range r.Intend(context.Background(), intents) {
				if answer.Err != nil {
					t.Errorf("%s: %v", owner, answer.Err)
				}
				if answer.Row.MayBeSent(owner) {
					mu.Lock()
					may[(d+w)%deliveries]++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	for d, n := range may {
		if n != 1 {
			t.Errorf("delivery %d may be sent by %d claims, want 1", d, n)
		}
	}
}

func TestManyTakeOverTheSameStaleSendingAndOneMaySend(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	r.lapse(t, r.intend(t, "w0", of(push.Notify)))
	answers := make(chan push.Row, 16)
	var group sync.WaitGroup
	for w := range cap(answers) {
		group.Go(func() {
			owner := fmt.Sprintf("w%d", w+1)
			answers <- r.Intend(context.Background(), []push.Intent{intend(owner, of(push.Notify))})[0].Row
		})
	}
	group.Wait()
	close(answers)
	owners := map[string]bool{}
	for row := range answers {
		owners[word(row)] = true
	}
	if len(owners) != 1 {
		t.Errorf("the takeover has several winners: %v", owners)
	}
	if told := r.attempts(t, push.Row{ID: 1}); told != "1:lost 2:sending" {
		t.Errorf("timeline %q", told)
	}
}

func TestBatchAnswersInTheOrderAsked(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	var intents []push.Intent
	for _, n := range []int{5, 1, 9, 3, 7} {
		intents = append(intents, intend(fmt.Sprintf("w%d", n), about(strconv.Itoa(n))))
	}
	for i, answer := range r.Intend(t.Context(), intents) {
		says(t, answer.Row, fmt.Sprintf("sending(%s,1)", intents[i].Owner))
	}
	if got := r.Intend(t.Context(), nil); len(got) != 0 {
		t.Errorf("an empty batch was answered: %v", got)
	}
}

func TestSameDeliveryTwiceInABatch(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	answers := r.Intend(t.Context(), []push.Intent{intend("w1"), intend("w9", about("other")), intend("w2"), intend("w1")})
	for i, want := range []string{"sending(w1,1)", "sending(w9,1)", "sending(w1,1)", "sending(w1,1)"} {
		says(t, answers[i].Row, want)
	}
	row := answers[0].Row
	results := r.Record(t.Context(), []push.Result{resultOf(row, push.NotSent), resultOf(row, push.Accepted), resultOf(row, push.NotSent)})
	says(t, results[0].Row, "failed(w1,1)")
	says(t, results[1].Row, "sent(w1,1)")
	says(t, results[2].Row, "sent(w1,1)")
}

func TestRefusedItemFailsAlone(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	bad := map[int]change{
		2: func(in *push.Intent) { in.Delivery.Event.Raw = []byte(`{"biz_type":`) },                         // class 22
		5: about("nul\x00in an identity"),                                                                   // class 22
		7: about(incompressible(5000)),                                                                      // class 54
		8: func(in *push.Intent) { in.Delivery.Origin.Time = time.Date(-9999, 1, 1, 0, 0, 0, 0, time.UTC) }, // class 22
	}
	intents := make([]push.Intent, 12)
	for i := range intents {
		intents[i] = intend("w1", about(strconv.Itoa(i)))
		if c, found := bad[i]; found {
			c(&intents[i])
		}
	}
	for i, answer := range r.Intend(t.Context(), intents) {
		var refused *pgconn.PgError
		if _, isBad := bad[i]; isBad {
			if !errors.As(answer.Err, &refused) || answer.Row.Exists() {
				t.Errorf("item %d: %+v, want PostgreSQL's refusal", i, answer)
			}
			continue
		}
		if answer.Err != nil {
			t.Errorf("item %d suffers for another: %v", i, answer.Err)
		}
		says(t, answer.Row, "sending(w1,1)")
	}
}

// incompressible is text that no index entry can hold.
func incompressible(n int) string {
	var b strings.Builder
	for x := uint32(1); b.Len() < n; {
		x = x*1664525 + 1013904223
		fmt.Fprintf(&b, "%08x", x)
	}
	return b.String()
}

func TestRefusedInboxMessageFailsAlone(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	good, bad := r.intend(t, "w1", of(push.Notify)), r.intend(t, "w2", of(push.Notify), about("bad"))
	first, second := resultOf(bad, push.Accepted), resultOf(good, push.Accepted)
	first.Inbox = &push.Inbox{UserID: "u1", Data: []byte("no json")}
	second.Inbox = &push.Inbox{UserID: "u1"}
	answers := r.Record(t.Context(), []push.Result{first, second})
	if answers[0].Err == nil {
		t.Errorf("answer %+v, want the refusal of its data", answers[0])
	}
	says(t, answers[1].Row, "sent(w1,1)")
	r.must(t, bad.ID, "sending", "status") // neither message nor result
}

func TestUnansweredBatchSaysSoOfEachItem(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, answer := range r.Intend(ctx, []push.Intent{intend("w1"), intend("w1", about("other")), intend("w2")}) {
		if !errors.Is(answer.Err, context.Canceled) {
			t.Errorf("answer %+v, want the cancellation", answer)
		}
	}
}
