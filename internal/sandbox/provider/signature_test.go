package provider

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The worked example of Alibaba Cloud's own page.
func TestACS3PublishedExample(t *testing.T) {
	t.Parallel()
	const authorization = "ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;x-acs-content-sha256;" +
		"x-acs-date;x-acs-signature-nonce;x-acs-version," +
		"Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0"
	keys := Keys{"YourAccessKeyId", "YourAccessKeySecret"}
	at := time.Date(2023, 10, 26, 10, 22, 32, 0, time.UTC)
	r := httptest.NewRequest("POST", "/?ImageId=win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd&RegionId=cn-shanghai", nil)
	r.Host = "ecs.cn-shanghai.aliyuncs.com"
	for name, value := range map[string]string{
		"x-acs-action": "RunInstances", "x-acs-version": "2014-05-26", "x-acs-date": "2023-10-26T10:22:32Z",
		"x-acs-signature-nonce": "3156853299f313e23d1673dc12e1703d", "Authorization": authorization,
		"x-acs-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	} {
		r.Header.Set(name, value)
	}
	guard := &acs3Guard{seen: map[string]time.Time{}}
	code := func(keys Keys, now time.Time) string {
		if no := guard.check(r, nil, keys, now); no != nil {
			return no.code
		}
		return ""
	}
	for _, c := range []struct {
		name string
		keys Keys
		now  time.Time
		want string
	}{
		{"another key", Keys{"x", "y"}, at, "InvalidAccessKeyId.NotFound"},
		{"another secret", Keys{keys.ID, "y"}, at, "SignatureDoesNotMatch"},
		{"too late", keys, at.Add(16 * time.Minute), "InvalidTimeStamp.Expired"},
		{"right", keys, at.Add(time.Minute), ""},
		{"again", keys, at.Add(time.Minute), "SignatureNonceUsed"},
	} {
		if got := code(c.keys, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	r.Header.Set("Authorization", "Basic x")
	if got := code(keys, at); got != "IncompleteSignature" {
		t.Errorf("no signature: %q", got)
	}
}

// The worked example of Tencent Cloud's own page, whose keys are masked there as well.
func TestTC3PublishedExample(t *testing.T) {
	t.Parallel()
	const (
		body = `{"Limit": 1, "Filters": [{"Values": ["\u672a\u547d\u540d"], "Name": "instance-name"}]}`
		want = "10b1a37a7301a02ca19a647ad722d5e43b4b3cff309d421d85b46093f6ab6c4f"
	)
	stars := strings.Repeat("*", 32)
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Host = "cvm.tencentcloudapi.com"
	for name, value := range map[string]string{
		"Content-Type": "application/json; charset=utf-8", "X-TC-Action": "DescribeInstances", "X-TC-Timestamp": "1551113065",
		"Authorization": "TC3-HMAC-SHA256 Credential=AKID" + stars + "/2019-02-25/cvm/tc3_request, " +
			"SignedHeaders=content-type;host;x-tc-action, Signature=" + want,
	} {
		r.Header.Set(name, value)
	}
	at := time.Unix(1551113065, 0)
	for _, c := range []struct {
		keys Keys
		now  time.Time
		want string
	}{
		{Keys{"AKID" + stars, stars}, at, ""},
		{Keys{"AKID" + stars, "x"}, at, "AuthFailure.SignatureFailure"},
		{Keys{"x", stars}, at, "AuthFailure.SecretIdNotFound"},
		{Keys{"AKID" + stars, stars}, at.Add(6 * time.Minute), "AuthFailure.SignatureExpire"},
	} {
		code := ""
		if no := checkTC3(r, []byte(body), c.keys, c.now); no != nil {
			code = no.code
		}
		if code != c.want {
			t.Errorf("%+v at %v: %q, want %q", c.keys, c.now, code, c.want)
		}
	}
}
