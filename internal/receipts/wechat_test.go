package receipts

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

const openid = "oAbCdEfGhIjKlMnOpQrStUvWxYz0"

// event is WeChat's word on message 3487542469355618313.
func event(status string) string {
	return `<xml><ToUserName><![CDATA[gh_7f083739789a]]></ToUserName><FromUserName><![CDATA[` + openid + `]]></FromUserName>` +
		`<CreateTime>1772600767</CreateTime><MsgType><![CDATA[event]]></MsgType><Event><![CDATA[TEMPLATESENDJOBFINISH]]></Event>` +
		`<MsgID>3487542469355618313</MsgID><Status><![CDATA[` + status + `]]></Status></xml>`
}

// sign is WeChat's signature.
func sign(parts ...string) string {
	parts = slices.Sorted(slices.Values(parts))
	sum := sha1.Sum([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(sum[:])
}

// signedURL is a plain-mode URL signed with token at a time.
func signedURL(token string, at time.Time, more ...string) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	q := url.Values{"timestamp": {stamp}, "nonce": {"n1"}, "signature": {sign(token, stamp, "n1")}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "/receipts/wechat?" + q.Encode()
}

func TestWeChatSaysWhatBecameOfAMessage(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]struct {
		report push.Report
		code   string
	}{
		"success":               {push.ReportDelivered, "success"},
		"failed:user block":     {push.ReportUndelivered, "user_block"},
		"failed: system failed": {push.ReportUndelivered, "system_failed"},
		"failed:freq limit":     {push.ReportUndelivered, "freq_limit"},
		"maybe":                 {push.ReportUnreadable, ""},
	} {
		log := &pushLog{}
		status, answer := call(open(t, log), "POST", signedURL("token", now), event(said))
		if status != 200 || answer != "success" {
			t.Errorf("%s: answered %d %s", said, status, answer)
		}
		if len(log.kept) != 1 || log.kept[0].Report != want.report || log.kept[0].Code != want.code {
			t.Errorf("%s: kept %+v", said, log.kept)
		}
		if r := log.kept[0]; r.Report != push.ReportUnreadable && (r.MessageID != "3487542469355618313" || r.ReportedAt.Unix() != 1772600767 ||
			string(r.RecipientHash) != string(push.HashRecipient(openid, []byte("a key of sixteen")))) {
			t.Errorf("%s: kept %+v", said, r)
		}
	}
}

func TestWeChatMessageIDZeroNamesNoMessage(t *testing.T) {
	t.Parallel()
	log := &pushLog{}
	call(open(t, log), "POST", signedURL("token", now), strings.Replace(event("success"), "3487542469355618313", "0", 1))
	if len(log.kept) != 1 || log.kept[0].MessageID != "" || log.kept[0].Report != push.ReportDelivered {
		t.Errorf("kept %+v", log.kept)
	}
}

func TestWeChatEventsOfOtherKindsAreAccepted(t *testing.T) {
	t.Parallel()
	log := &pushLog{}
	status, answer := call(open(t, log), "POST", signedURL("token", now), strings.Replace(event("success"), finished, "subscribe", 1))
	if status != 200 || answer != "success" || len(log.kept) != 0 {
		t.Errorf("answered %d %s, kept %+v", status, answer, log.kept)
	}
}

// TestWeChatXMLIsReadSafely: entities are not expanded, outer files not read.
func TestWeChatXMLIsReadSafely(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"entities": `<!DOCTYPE xml [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>` + strings.Replace(event("success"), "gh_", "&b;", 1),
		"a file":   `<!DOCTYPE xml [<!ENTITY f SYSTEM "file:///etc/passwd">]><xml><MsgType>&f;</MsgType></xml>`,
		"another":  `<soap>` + event("success") + `</soap>`,
		"deep":     strings.Repeat("<xml>", 20_000),
	} {
		log := &pushLog{}
		if status, _ := call(open(t, log), "POST", signedURL("token", now), body); status != 200 {
			t.Errorf("%s: status %d", name, status)
		}
		for _, r := range log.kept {
			if r.Report != push.ReportUnreadable && name != "entities" || strings.Contains(r.Raw, "root:") || strings.Contains(r.Message, "aaaa") {
				t.Errorf("%s: kept %+v", name, r)
			}
		}
	}
}

func TestForgedWeChatCallsAreRefused(t *testing.T) {
	t.Parallel()
	good := signedURL("token", now)
	for name, path := range map[string]string{
		"no signature":    "/receipts/wechat",
		"another token":   signedURL("other", now),
		"another time":    strings.Replace(good, "timestamp=17", "timestamp=18", 1),
		"another nonce":   strings.Replace(good, "nonce=n1", "nonce=n2", 1),
		"an old one":      signedURL("token", now.Add(-skew-time.Second)),
		"one from ahead":  signedURL("token", now.Add(skew+time.Second)),
		"empty signature": signedURL("token", now, "signature", ""),
	} {
		log := &pushLog{}
		h := open(t, log)
		for _, method := range []string{"GET", "POST"} {
			if status, answer := call(h, method, path, event("success")); status != 403 || strings.Contains(answer, "success") {
				t.Errorf("%s: %s answered %d %s", name, method, status, answer)
			}
		}
		if len(log.kept) != 0 || log.counts["wechat refused"] != 2 {
			t.Errorf("%s: kept %+v, counted %v", name, log.kept, log.counts)
		}
	}
}

func TestWeChatEchoesWhenItsURLIsConfigured(t *testing.T) {
	t.Parallel()
	status, answer := call(open(t, &pushLog{}), "GET", signedURL("token", now, "echostr", "<b>8421</b>"), "")
	if status != 200 || answer != "<b>8421</b>" {
		t.Errorf("answered %d %s", status, answer)
	}
	log := &pushLog{}
	closed := open(t, log, func(c *Config) { c.WeChat.Token = "" })
	if status, _ := call(closed, "GET", signedURL("", now, "echostr", "1"), ""); status != 404 {
		t.Errorf("without a token the door answers %d", status)
	}
}

const aesKey = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"

// seal encrypts as WeChat does.
func seal(t *testing.T, message, appID string) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(aesKey + "=")
	if err != nil {
		t.Fatal(err)
	}
	text := append([]byte("0123456789abcdef"), binary.BigEndian.AppendUint32(nil, uint32(len(message)))...)
	text = append(append(text, message...), appID...)
	pad := padTo - len(text)%padTo
	text = append(text, slices.Repeat([]byte{byte(pad)}, pad)...)
	return encrypt(t, key, text)
}

func encrypt(t *testing.T, key, text []byte) string {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	cipher.NewCBCEncrypter(block, key[:16]).CryptBlocks(text, text)
	return base64.StdEncoding.EncodeToString(text)
}

// sealedCall is URL and body of an encrypted message.
func sealedCall(token, encrypted string) (path, body string) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	path = signedURL(token, now, "encrypt_type", "aes", "msg_signature", sign(token, stamp, "n1", encrypted))
	return path, fmt.Sprintf("<xml><ToUserName><![CDATA[gh_1]]></ToUserName><Encrypt><![CDATA[%s]]></Encrypt></xml>", encrypted)
}

func encrypting(c *Config) { c.WeChat.AESKey = aesKey }

func TestEncryptedWeChatReceipts(t *testing.T) {
	t.Parallel()
	log := &pushLog{}
	h := open(t, log, encrypting)
	path, body := sealedCall("token", seal(t, event("failed:user block"), "wx1"))
	if status, answer := call(h, "POST", path, body); status != 200 || answer != "success" {
		t.Fatalf("answered %d %s", status, answer)
	}
	if len(log.kept) != 1 || log.kept[0].Code != "user_block" || log.kept[0].MessageID != "3487542469355618313" {
		t.Errorf("kept %+v", log.kept)
	}
	encrypted := seal(t, "8421", "wx1")
	path, _ = sealedCall("token", encrypted)
	if status, answer := call(h, "GET", path+"&echostr="+url.QueryEscape(encrypted), ""); status != 200 || answer != "8421" {
		t.Errorf("echoed %d %s", status, answer)
	}
	if status, answer := call(h, "GET", signedURL("token", now, "echostr", "77"), ""); status != 200 || answer != "77" {
		t.Errorf("echoed %d %s to a plain question", status, answer)
	}
}

func TestForgedEncryptedWeChatCallsAreRefused(t *testing.T) {
	t.Parallel()
	key, _ := base64.StdEncoding.DecodeString(aesKey + "=")
	good := seal(t, event("success"), "wx1")
	for name, c := range map[string]struct{ token, encrypted string }{
		"another token":   {"other", good},
		"another account": {"token", seal(t, event("success"), "wx2")},
		"no base64":       {"token", "***"},
		"nothing":         {"token", ""},
		"half a block":    {"token", base64.StdEncoding.EncodeToString([]byte("1234567"))},
		"no padding":      {"token", encrypt(t, key, make([]byte, 32))},
		"only padding":    {"token", encrypt(t, key, slices.Repeat([]byte{32}, 32))},
		"a length too long": {"token", encrypt(t, key, append(append(make([]byte, 16), 255, 255, 255, 255),
			slices.Repeat([]byte{12}, 12)...))},
	} {
		log := &pushLog{}
		h := open(t, log, encrypting)
		path, body := sealedCall(c.token, c.encrypted)
		if status, _ := call(h, "POST", path, body); status != 403 || len(log.kept) != 0 {
			t.Errorf("%s: answered %d, kept %+v", name, status, log.kept)
		}
		if status, answer := call(h, "GET", path+"&echostr="+url.QueryEscape(c.encrypted), ""); status != 403 {
			t.Errorf("%s: echoed %d %s", name, status, answer)
		}
	}
	log := &pushLog{}
	path, body := sealedCall("token", good)
	swapped := strings.Replace(body, good, seal(t, event("failed:user block"), "wx1"), 1)
	if status, _ := call(open(t, log, encrypting), "POST", path, swapped); status != 403 {
		t.Errorf("a swapped message is answered %d", status)
	}
	if status, _ := call(open(t, log, encrypting), "POST", signedURL("token", now), event("success")); status != 403 || len(log.kept) != 0 {
		t.Errorf("a plain message in encrypted mode is answered %d", status)
	}
}

func TestAESKeyThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"short", aesKey + "A", "***" + aesKey[3:]} {
		_, err := New(Config{WeChat: WeChat{Token: "token", AESKey: key}}, &pushLog{})
		if err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
