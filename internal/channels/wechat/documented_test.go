package wechat_test

import (
	"context"
	"testing"

	"pusher/internal/channels/channeltest"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// Every code of docs/providers.md, section 3, over the wire.
func TestEveryDocumentedCode(t *testing.T) {
	t.Parallel()
	list := channeltest.ReadDocumented(t, "3")
	if len(list) < 32 {
		t.Fatalf("%d codes found, the document has more", len(list))
	}
	for _, d := range list {
		if d.Classes[0] == push.Accepted {
			continue // the suite's first case, TestAnswerOfADuplicateIsAYes
		}
		t.Run(d.Code, func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: provider.Refuse, Code: d.Code}}})
			_, err := newSender(t, config(box.URL())).Send(context.Background(), message())
			channeltest.CheckDocumented(t, d, channeltest.Failure(t, err), map[string]push.Class{"-1": push.Ambiguous})
		})
	}
	t.Logf("%d codes", len(list))
}
