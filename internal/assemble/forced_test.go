package assemble

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"pusher/internal/config"
	"pusher/internal/dedup"
	"pusher/internal/push"
)

// staleWeChat goes on giving out a token that it refuses, until somebody forces a new one.
type staleWeChat struct {
	mu       sync.Mutex // guards all below
	token    int
	unforced int
	forced   int
	accepted map[string]int // by client_msg_id
}

func (s *staleWeChat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Force bool   `json:"force_refresh"`
		ID    string `json:"client_msg_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Path == "/cgi-bin/stable_token" && in.Force:
		s.forced++
		s.token++
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":7200}`, s.token)
	case r.URL.Path == "/cgi-bin/stable_token":
		s.unforced++
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":7200}`, s.token)
	case r.URL.Query().Get("access_token") != "token-2":
		_, _ = fmt.Fprint(w, `{"errcode":40001,"errmsg":"invalid credential"}`)
	default:
		s.accepted[in.ID]++
		_, _ = fmt.Fprint(w, `{"errcode":0,"errmsg":"ok","msgid":1}`)
	}
}

// Four instances on one Redis, and a token that is dead and comes back unforced: one instance forces, the others take
// what it got. Every message is accepted once.
func TestOneInstanceForcesTheTokenForAll(t *testing.T) {
	t.Parallel()
	provider := &staleWeChat{token: 1, accepted: map[string]int{}}
	server := httptest.NewServer(provider)
	t.Cleanup(server.Close)
	c := config.Default()
	c.Channels.WeChat.Endpoint, c.Channels.WeChat.AppID, c.Channels.WeChat.AppSecret = server.URL, "wx1", "secret"
	c.Pushes = map[string]config.Push{"p": {Actions: config.PushActions{WeChat: &config.WeChatTemplate{Template: "T"}}}}
	shared := miniredis.RunT(t)
	const instances, each = 4, 25
	var all sync.WaitGroup
	for instance := range instances {
		client := redis.NewClient(&redis.Options{Addr: shared.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		sender, err := WeChat(c, dedup.NewRation(client, forcedTokens()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sender.Close)
		all.Go(func() {
			for i := range each {
				m := push.Message{BizType: "p", Recipient: "o1", Reference: strconv.Itoa(instance*each + i)}
				if _, err := sender.Send(t.Context(), m); err != nil {
					t.Errorf("instance %d: %v", instance, err)
				}
			}
		})
	}
	all.Wait()
	provider.mu.Lock()
	defer provider.mu.Unlock()
	if provider.forced != 1 || provider.unforced+provider.forced > 16 || len(provider.accepted) != instances*each {
		t.Errorf("%d forced, %d unforced, %d accepted; want 1, few, %d", provider.forced, provider.unforced, len(provider.accepted), instances*each)
	}
	for id, times := range provider.accepted {
		if times != 1 {
			t.Errorf("%s accepted %d times", id, times)
		}
	}
	t.Logf("%d forced, %d unforced", provider.forced, provider.unforced)
}
