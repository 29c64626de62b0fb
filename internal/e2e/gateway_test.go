package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pusher/internal/gateway"
)

// freePort is an address that a gateway takes again after it was killed.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// impatient is a producer's transport that hangs up on some of its requests before they are answered.
type impatient struct{ next http.RoundTripper }

func (i impatient) RoundTrip(r *http.Request) (*http.Response, error) {
	if rand.IntN(3) > 0 {
		return i.next.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(rand.IntN(8_000))*time.Microsecond)
	defer cancel()
	res, err := i.next.RoundTrip(r.WithContext(ctx))
	if err == nil {
		_ = res.Body.Close()
		return nil, context.Canceled // answered already: the answer is lost on its way
	}
	return nil, err
}

// TestImpatientClientsAtAGatewayThatIsKilled: 50 clients post each of their events 1 to 5 times at once with the same key,
// connections are cut at random, and the gateway is killed twice. Every event is sent once, and whoever asks again gets one
// and the same answer.
func TestImpatientClientsAtAGatewayThatIsKilled(t *testing.T) {
	t.Parallel()
	const clients, each = 50, 4
	addr := freePort(t)
	secret, entry := gateway.NewCredential("orders")
	in := install(t, map[string]string{
		"PUSHER_GATEWAY_ADDR": addr, "PUSHER_GATEWAY_PRODUCERS": entry, "PUSHER_GATEWAY_LEASE": "1s",
		"PUSHER_GATEWAY_TOKEN_KEY": "0123456789abcdef0123456789abcdef",
	})
	in.pusher("")
	door := in.start("pusher", "", "gateway")
	door.says("the front door is open")

	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	var answers sync.Map // of event id to answer id
	var done atomic.Int64
	var all sync.WaitGroup
	post := func(id int, http *http.Client) {
		client := &gateway.Client{URL: "http://" + addr, Credential: secret, HTTP: http, Wait: 50 * time.Millisecond}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		got, err := client.Send(ctx, [][]byte{[]byte(event(id, ""))}, fmt.Sprintf("key-%d", id))
		if err != nil {
			t.Errorf("event %d: %v", id, err)
			return
		}
		if before, seen := answers.LoadOrStore(id, got.ID); seen && before != got.ID || got.Accepted != 1 {
			t.Errorf("event %d: answered %+v, and before %v", id, got, before)
		}
	}
	hasty := &http.Client{Transport: impatient{transport}}
	for c := range clients {
		all.Go(func() {
			for e := range each {
				var same sync.WaitGroup
				for range 1 + rand.IntN(5) {
					same.Go(func() { post(c*each+e, hasty) })
				}
				same.Wait()
				done.Add(1)
			}
		})
	}
	for _, share := range []int64{1, 2} {
		for done.Load() < share*clients*each/3 {
			time.Sleep(time.Millisecond)
		}
		door.Signal(syscall.SIGKILL)
		door.gone()
		door = in.start("pusher", "", "gateway")
		door.says("the front door is open")
	}
	all.Wait()
	calm := &http.Client{Transport: transport}
	for id := range clients * each {
		post(id, calm)
	}
	in.eventually("everything is sent", func() bool {
		in.pass()
		return in.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`) == clients*each*3
	})
	if n, twice := in.sandbox.Journal().Total(""), in.sandbox.Journal().Twice(); n != clients*each*2 || len(twice) > 0 {
		t.Errorf("%d accepted sends, twice %v", n, twice)
	}
	if n := in.number(`SELECT count(*) FROM inbox_message`); n != clients*each {
		t.Errorf("%d in-app messages", n)
	}
	door.Signal(syscall.SIGTERM)
	if code := door.code(); code != 0 {
		t.Errorf("the gateway ended with %d", code)
	}
}
