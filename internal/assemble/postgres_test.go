package assemble

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"pusher/internal/config"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestThePusherWarnsOfAPostgresThatMayLoseCommits(t *testing.T) {
	t.Parallel()
	url := testbed.EmptyPostgres(t)
	for query, warned := range map[string]bool{"": false, "&synchronous_commit=off": true} {
		log, err := store.Open(t.Context(), store.Config{URL: url + query})
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		(&Pusher{cfg: config.Default(), log: zerolog.New(&said)}).mayLose(t.Context(), log)
		log.Close()
		if strings.Contains(said.String(), "synchronous_commit is off") != warned {
			t.Errorf("with %q it says %q", query, said.String())
		}
	}
}
