package aliyun_test

import (
	"testing"

	"pusher/internal/channels/channeltest"
	"pusher/internal/push"
)

// Every code of docs/providers.md, section 1, over the wire.
func TestEveryDocumentedCode(t *testing.T) {
	t.Parallel()
	list := channeltest.ReadDocumented(t, "1")
	if len(list) < 40 {
		t.Fatalf("%d codes found, the document has more", len(list))
	}
	except := map[string]push.Class{ // "HTTP 500/503 as ambiguous"
		"ServiceUnavailable": push.Ambiguous, "InternalError": push.Ambiguous,
	}
	for _, d := range list {
		if d.Code == "OK" {
			continue // the suite's first case
		}
		t.Run(d.Code, func(t *testing.T) {
			t.Parallel()
			f, box := refuse(t, d.Concrete(), "触发小时级流控Permits:5")
			channeltest.CheckDocumented(t, d, f, except)
			if box.Journal().Total("") != 0 {
				t.Error("a refusal was accepted")
			}
		})
	}
	t.Logf("%d codes", len(list))
}
