package config

import (
	"fmt"
	"strings"
	"testing"
)

const producerHash = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestGatewaySection(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, valid+`
gateway:
  producers: [orders=`+producerHash+`, orders=`+strings.ReplaceAll(producerHash, "0", "f")+`]
  token_key: 0123456789abcdef0123456789abcdef
  fingerprint: [biz_id, params.job]
`)
	got := c.Gateway.Credentials()
	if len(got) != 2 || got[0].Name != "orders" || "sha256:"+got[0].Hash != producerHash {
		t.Errorf("got %+v", got)
	}
	if c.Gateway.FingerprintBy() == nil || Default().Gateway.FingerprintBy() != nil {
		t.Error("the fingerprint is not read")
	}
	if err := c.NeedGateway(); err != nil {
		t.Error(err)
	}
	if shown := fmt.Sprintf("%+v", c.Gateway); strings.Contains(shown, "0123456789abcdef0123456789abcdef}") {
		t.Errorf("shows its secret: %s", shown)
	}
}

func TestGatewayNamesWhatItNeeds(t *testing.T) {
	t.Parallel()
	err := mustLoad(t, valid).NeedGateway()
	if err == nil || !strings.Contains(err.Error(), "gateway.producers: is missing") || !strings.Contains(err.Error(), "gateway.token_key: is missing") {
		t.Errorf("got %v", err)
	}
}

func TestGatewaysThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, key string }{
		"credential in the clear":   {"{producers: [orders=hunter2-hunter2]}", "gateway.producers"},
		"short token key":           {"{token_key: short}", "gateway.token_key"},
		"token that never dies":     {"{token_life: 1000h}", "gateway.token_life"},
		"no lease":                  {"{lease: 0s}", "gateway.lease"},
		"key shorter than a lease":  {"{key_window: 1s}", "gateway.key_window"},
		"print shorter than that":   {"{fingerprint_window: 1s}", "gateway.fingerprint_window"},
		"no such field":             {"{fingerprint: [colour]}", "gateway.fingerprint"},
		"another way without redis": {"{on_redis_down: hope}", "gateway.on_redis_down"},
		"negative rate":             {"{rate: -1}", "gateway.rate"},
		"body under an event":       {"{max_body: 1000}", "gateway.max_body"},
		"endless batch":             {"{max_batch: 1000000}", "gateway.max_batch"},
		"room for no request":       {"{in_hand: 1048576}", "gateway.in_hand"},
		"no time to write":          {"{timeout: 0s}", "gateway.timeout"},
		"answer that comes late":    {"{timeout: 20s}", "gateway.timeout"},
		"no grace":                  {"{grace: 0s}", "gateway.grace"},
		"grace under a write":       {"{grace: 9s}", "gateway.grace"},
		"no port":                   {"{addr: here}", "gateway.addr"},
		"half a certificate":        {"{tls: {cert_file: /nowhere.pem}}", "gateway.tls"},
	} {
		_, _, err := Load(write(t, valid+"gateway: "+c.text+"\n"), environment(), nil)
		if err == nil || !strings.Contains(err.Error(), c.key+":") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
