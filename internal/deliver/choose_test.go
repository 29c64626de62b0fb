package deliver

import (
	"context"
	"testing"

	"pusher/internal/push"
)

// candidate is a sender that says of itself what the test wants.
type candidate struct {
	name          string
	serves, sound bool
	illegible     bool // it cannot write the message
}

func (c candidate) Writes(push.Message) bool { return !c.illegible }

func (c candidate) Provider() string    { return c.name }
func (c candidate) Serves(string) bool  { return c.serves }
func (c candidate) Healthy(string) bool { return c.sound }

func (c candidate) Enter(context.Context, push.Message) (leave func(error), err error) {
	return func(error) {}, nil
}

func (c candidate) Send(context.Context, push.Message) (push.Acceptance, error) {
	return push.Acceptance{Provider: c.name}, nil
}

func TestHealthAndTemplatesChooseTheProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		senders []Sender
		want    string
	}{
		"the first":                           {[]Sender{candidate{"a", true, true, false}, candidate{"b", true, true, false}}, "a"},
		"the first healthy one":               {[]Sender{candidate{"a", true, false, false}, candidate{"b", true, true, false}}, "b"},
		"none healthy: the first":             {[]Sender{candidate{"a", true, false, false}, candidate{"b", true, false, false}}, "a"},
		"the one with a template":             {[]Sender{candidate{"a", false, true, false}, candidate{"b", true, true, false}}, "b"},
		"a template goes before health":       {[]Sender{candidate{"a", false, true, false}, candidate{"b", true, false, false}}, "b"},
		"no template: the first refuses":      {[]Sender{candidate{"a", false, false, false}, candidate{"b", false, true, false}}, "a"},
		"one that can write it":               {[]Sender{candidate{"a", true, true, true}, candidate{"b", true, false, false}}, "b"},
		"none can: the first with a template": {[]Sender{candidate{"a", false, true, true}, candidate{"b", true, true, true}}, "b"},
		"one that says nothing is healthy":    {[]Sender{channel{newWorld()}, candidate{"b", true, true, false}}, "aliyun"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channel := Channel{Senders: c.senders}
			if got := channel.choose(push.Message{BizType: "viewed"}).Provider(); got != c.want {
				t.Errorf("chose %s, want %s", got, c.want)
			}
			if got := channel.named(c.want); got == nil || got.Provider() != c.want {
				t.Errorf("named %v", got)
			}
		})
	}
	if (Channel{}).choose(push.Message{}) != nil || (Channel{}).named("a") != nil {
		t.Error("a channel without providers has none")
	}
}
