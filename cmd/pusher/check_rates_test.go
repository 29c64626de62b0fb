package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pusher/internal/config"
)

func TestCheckSaysTheEffectiveRates(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Channels.SMS.Providers = []string{config.ProviderTencent, config.ProviderAliyun}
	c.Channels.SMS.Aliyun.Rate = 100
	c.Channels.SMS.Tencent.Rate = 0.5
	c.Channels.WeChat.AppID = "wx1"
	var out bytes.Buffer
	checkRates(t.Context(), c, &report{out: &out})
	c.Channels.Breaker.Pause = 0
	c.Channels.SMS.Providers, c.Channels.WeChat.AppID = []string{config.ProviderAliyun}, ""
	checkRates(t.Context(), c, &report{out: &out})
	want := strings.Join([]string{
		"ok    rate of aliyun: 100 a second over all instances, evenly: one each 10ms; a pause of " + (15 * time.Second).String() + " when 50% of at least 20 requests in ten seconds fail",
		"ok    rate of tencent: 0.5 a second over all instances, evenly: one each 2s; a pause of 15s when 50% of at least 20 requests in ten seconds fail",
		"ok    rate of wechat: no limit of ours; a pause of 15s when 50% of at least 20 requests in ten seconds fail",
		"ok    rate of aliyun: 100 a second over all instances, evenly: one each 10ms; no breaker", "",
	}, "\n")
	if out.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", out.String(), want)
	}
}
