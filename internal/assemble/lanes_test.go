package assemble

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/channels"
	"pusher/internal/config"
	"pusher/internal/deliver"
	"pusher/internal/push"
)

// The pipeline finds in a lane all that it asks its senders for, where they have it.
var (
	_ deliver.Sender = (*channels.Lane)(nil)
	_ deliver.Health = (*channels.Lane)(nil)
	_ deliver.Writer = (*channels.Lane)(nil)
)

// All installations that use an account share its rate, others do not, and no key tells the account's id.
func TestARateIsOfOneAccount(t *testing.T) {
	t.Parallel()
	name := rateName("aliyun", "LTAI-id", callSend)
	if name != rateName("aliyun", "LTAI-id", callSend) || name == rateName("aliyun", "LTAI-id", callQuery) ||
		name == rateName("aliyun", "LTAI-other", callSend) || strings.Contains(name, "LTAI") {
		t.Errorf("the name is %s", name)
	}
}

func TestRatesAreOfTheProvidersThatSend(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Channels.SMS.Providers = []string{config.ProviderTencent}
	c.Channels.SMS.Aliyun.Rate, c.Channels.SMS.Tencent.Rate = 5, 7
	if got := Rates(c); len(got) != 1 || got[config.ProviderTencent] != 7 {
		t.Errorf("the rates are %v", got)
	}
}

func TestWhatALaneTellsIsLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &Pusher{cfg: config.Default(), log: zerolog.New(&out)}
	p.laneSays(channels.Event{
		Provider: "aliyun", Kind: channels.GateShut, Scope: push.ScopeTemplate, BizType: "resume_viewed", Code: "isv.SMS_TEMPLATE_ILLEGAL", Lasted: time.Minute,
	})
	p.laneSays(channels.Event{Provider: "tencent", Kind: channels.GateOpened, Scope: push.ScopeAccount, Code: "FailedOperation", Lasted: 90 * time.Second})
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{
		`{"level":"warn","provider":"aliyun","scope":"template","code":"isv.SMS_TEMPLATE_ILLEGAL","biz_type":"resume_viewed","again_in":"1m0s","message":"the gate is shut: `,
		`{"level":"info","provider":"tencent","scope":"account","code":"FailedOperation","lasted":"1m30s","message":"the gate is open again"}`,
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("got %s\nwant %s", lines[i], want)
		}
	}
}
