package assemble

import (
	"strings"
	"testing"

	"pusher/internal/channels"
	"pusher/internal/config"
	"pusher/internal/deliver"
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
