package deliver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"pusher/internal/push"
	"pusher/internal/testbed"
)

// told runs one SMS on the world with a log of its own and returns its lines.
func told(t *testing.T, w *world) []map[string]any {
	t.Helper()
	var out testbed.Log
	cfg := w.config()
	cfg.Log = zerolog.New(&out)
	if err := handle(t, w.start(t, cfg), "sms"); err != nil {
		t.Fatal(err)
	}
	var lines []map[string]any
	for text := range strings.Lines(out.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
		for _, whole := range []string{"13800138000", "oOPENID1234", `"u1"`} {
			if strings.Contains(text, whole) {
				t.Errorf("%s stands whole in %s", whole, text)
			}
		}
	}
	return lines
}

// Each decision worth reading is one line, with what an operator asks next.
func TestEachDecisionIsOneLine(t *testing.T) {
	t.Parallel()
	key := push.Identity{BizType: "viewed", RuleVersion: "v1", DedupID: "1", Action: push.SMS}.Key()
	sent := &push.Row{ID: 1, Round: 1, Attempt: 2, Status: push.Sent}
	refuse := func(f push.Failure) func(push.Message) (push.Acceptance, error) {
		return func(push.Message) (push.Acceptance, error) { return push.Acceptance{}, &f }
	}
	for name, c := range map[string]struct {
		world func(*world)
		want  map[string]any
	}{
		"a duplicate that Redis knows": {
			func(w *world) { w.keys[key] = push.KeySuccess },
			map[string]any{"level": "debug", "message": "duplicate discarded", "by": "redis", "key_state": "success"},
		},
		"a duplicate that the row knows": {
			func(w *world) { w.rows[key] = sent },
			map[string]any{"level": "debug", "message": "duplicate discarded", "by": "row", "status": "sent", "round": 1.0, "attempt": 2.0},
		},
		"accepted": {
			func(*world) {},
			map[string]any{"level": "debug", "message": "attempt ended", "status": "sent", "class": "accepted"},
		},
		"refused": {
			func(w *world) {
				w.answer = refuse(push.Failure{Class: push.Permanent, Code: "isv.MOBILE_NUMBER_ILLEGAL"})
			},
			map[string]any{"level": "info", "message": "attempt ended", "status": "dead", "code": "isv.MOBILE_NUMBER_ILLEGAL"},
		},
		"held": {
			func(w *world) { w.answer = refuse(push.Failure{Class: push.Ambiguous, Code: "timeout"}) },
			map[string]any{"level": "info", "message": "held: it may have been sent, and nobody sends it again until that is known", "code": "timeout", "attempt": 1.0},
		},
		"stopped": {
			func(w *world) {
				w.answer = refuse(push.Failure{Class: push.Account, Scope: push.ScopeAccount, Code: "isv.AMOUNT_NOT_ENOUGH"})
			},
			map[string]any{"level": "error", "scope": "account", "code": "isv.AMOUNT_NOT_ENOUGH", "message": "stopped until somebody acts: what waits is kept and tried again by itself"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			c.world(w)
			lines, found := told(t, w), 0
			for _, line := range lines {
				fits := line["biz_type"] == "viewed" && line["biz_id"] == "1" && line["action"] == "sms" && line["topic"] == "main" && line["offset"] == 7.0
				for field, value := range c.want {
					fits = fits && line[field] == value
				}
				if fits {
					found++
				}
			}
			if found != 1 {
				t.Errorf("%d lines are %v; got %v", found, c.want, lines)
			}
		})
	}
}
