package aliyun

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// The worked example of Alibaba Cloud's own page on its third signature.
func TestSignReproducesThePublishedExample(t *testing.T) {
	t.Parallel()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "https://ecs.cn-shanghai.aliyuncs.com/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	call := api{"RunInstances", "2014-05-26", map[string]string{
		"ImageId": "win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd", "RegionId": "cn-shanghai",
	}}
	at := time.Date(2023, 10, 26, 18, 22, 32, 0, time.FixedZone("", 8*60*60))
	call.sign(r, "YourAccessKeyId", "YourAccessKeySecret", at, "3156853299f313e23d1673dc12e1703d")
	const want = "ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;x-acs-content-sha256;" +
		"x-acs-date;x-acs-signature-nonce;x-acs-version," +
		"Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0"
	if got := r.Header.Get("Authorization"); got != want {
		t.Errorf("Authorization is\n%s, want\n%s", got, want)
	}
}

func TestEncodeIsRFC3986(t *testing.T) {
	t.Parallel()
	const in, want = "aZ09-_.~ +*!'()%&=/厨😀", "aZ09-_.~%20%2B%2A%21%27%28%29%25%26%3D%2F%E5%8E%A8%F0%9F%98%80"
	if got := encode(in); got != want {
		t.Errorf("encode gives %s, want %s", got, want)
	}
}

func TestWirePhone(t *testing.T) {
	t.Parallel()
	for e164, want := range map[string]string{
		"+8613800138000": "13800138000", "+12025550100": "12025550100", "+85251234567": "85251234567",
	} {
		if got := wirePhone(e164); got != want {
			t.Errorf("%s goes out as %s, want %s", e164, got, want)
		}
	}
}

func TestDaysAroundMidnightInBeijing(t *testing.T) {
	t.Parallel()
	for at, want := range map[string][]string{
		"2026-03-01T04:00:00Z": {"20260301"},             // noon
		"2026-03-01T15:30:00Z": {"20260301", "20260302"}, // 23:30: Aliyun may take it tomorrow
		"2026-03-01T16:05:00Z": {"20260302", "20260301"}, // 00:05: Aliyun's clock may be behind
		"2026-12-31T15:59:00Z": {"20261231", "20270101"},
	} {
		intent, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		got := days(intent)
		if len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
			t.Errorf("%s: days %v, want %v", at, got, want)
		}
	}
}

func TestOwnEndpoint(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{
		"cn-hangzhou": central, "": central, "nowhere": central,
		"cn-beijing":     "https://dysmsapi-proxy.cn-beijing.aliyuncs.com",
		"ap-southeast-1": "https://dysmsapi.ap-southeast-1.aliyuncs.com",
	} {
		if got := ownEndpoint(region); got != want {
			t.Errorf("%q: %s, want %s", region, got, want)
		}
	}
}
