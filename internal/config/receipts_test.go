package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestReceiptsSection(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, valid+`
receipts:
  secret_path: 0123456789abcdef
  allow: [203.0.113.0/24, 198.51.100.7, "2001:db8::/32", "::ffff:192.0.2.1"]
  proxies: [10.0.0.1]
  wechat: {token: t, encoding_aes_key: abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG}
`)
	allow, proxies := c.Receipts.Prefixes()
	if got, want := fmt.Sprint(allow, proxies),
		"[203.0.113.0/24 198.51.100.7/32 2001:db8::/32 192.0.2.1/32] [10.0.0.1/32]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fmt.Sprintf("%+v", c.Receipts); strings.Contains(got, "0123456789abcdef") || strings.Contains(got, "abcdefghij") {
		t.Errorf("shows its secrets: %s", got)
	}
}

func TestReceiptsFromTheEnvironment(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, valid, "PUSHER_RECEIPTS_ALLOW=203.0.113.9, 198.51.100.0/24", "PUSHER_RECEIPTS_SECRET_PATH_FILE="+write(t, "0123456789abcdef\n"))
	if allow, _ := c.Receipts.Prefixes(); len(allow) != 2 || c.Receipts.SecretPath.Reveal() != "0123456789abcdef" {
		t.Errorf("got %v", allow)
	}
}

func TestReceiptsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, key string }{
		"secret that is guessed":  {"{secret_path: hooks}", "receipts.secret_path"},
		"secret with a slash":     {"{secret_path: 0123456789/abcdef}", "receipts.secret_path"},
		"name for an address":     {"{allow: [aliyun.com]}", "receipts.allow"},
		"range that is none":      {"{proxies: [10.0.0.0/64]}", "receipts.proxies"},
		"kept for no time":        {"{keep_unmatched: 0s}", "receipts.keep_unmatched"},
		"key too short":           {"{wechat: {token: t, encoding_aes_key: abc}}", "receipts.wechat.encoding_aes_key"},
		"key that is no base64":   {"{wechat: {token: t, encoding_aes_key: \"***defghijklmnopqrstuvwxyz0123456789ABCDEFG\"}}", "receipts.wechat.encoding_aes_key"},
		"encrypted without token": {"{wechat: {encoding_aes_key: abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG}}", "receipts.wechat.token"},
	} {
		_, _, err := load(t, valid+"receipts: "+c.text+"\n")
		if err == nil || !strings.Contains(err.Error(), c.key) || strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%s: %v, want a problem of %s that shows no secret", name, err, c.key)
		}
	}
}
