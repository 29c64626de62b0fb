package dedup

import (
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
)

func TestConnectNamesWhatItCannotReach(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cfg  Config
		want string
	}{
		"nobody listens": {Config{Addrs: []string{"127.0.0.1:1"}}, "connecting to redis 127.0.0.1:1: "},
		"no sentinel":    {Config{Addrs: []string{"127.0.0.1:1"}, Mode: Sentinel, Master: "m"}, "connecting to redis 127.0.0.1:1: "},
		"no node": {
			Config{Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}, Mode: Cluster}, "connecting to redis 127.0.0.1:1,127.0.0.1:2: ",
		},
		"no address":              {Config{}, "no address"},
		"no such mode":            {Config{Addrs: []string{"a:1"}, Mode: "twin"}, `mode "twin"`},
		"two addresses":           {Config{Addrs: []string{"a:1", "b:1"}}, "mode single takes one address"},
		"sentinel, no master":     {Config{Addrs: []string{"a:1"}, Mode: Sentinel}, "without a master's name"},
		"cluster with another db": {Config{Addrs: []string{"a:1"}, Mode: Cluster, DB: 2}, "only db 0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Connect(t.Context(), tt.cfg)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestConnectAuthenticatesAndShowsNoPassword(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	m.RequireUserAuth("pusher", "s3cret-word")
	cfg := Config{Addrs: []string{m.Addr()}, Mode: Single, Username: "pusher", Password: "s3cret-word", DB: 3}
	if err := connect(t, cfg).Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Error(err)
	}
	if got, _ := m.DB(3).Get("k"); got != "v" {
		t.Errorf("db 3 has %q", got)
	}
	cfg.Password = "wrong-word"
	if _, err := Connect(t.Context(), cfg); err == nil || strings.Contains(err.Error(), cfg.Password) {
		t.Error(err)
	}
}

func TestMaxmemoryPolicy(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Addrs: []string{startRedis(t).addr}})
	for _, want := range []string{NoEviction, "allkeys-lru"} {
		client.ConfigSet(t.Context(), "maxmemory-policy", want)
		if got, err := MaxmemoryPolicy(t.Context(), client); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	client.Do(t.Context(), "ACL", "SETUSER", "default", "-info")
	if _, err := MaxmemoryPolicy(t.Context(), client); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("refused: %v", err)
	}
}
