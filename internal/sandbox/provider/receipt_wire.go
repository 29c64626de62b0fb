package provider

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // WeChat's own choice
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// aliyunReport is one element of Aliyun's SmsReport.
type aliyunReport struct {
	Phone      string `json:"phone_number"`
	SendTime   string `json:"send_time"`
	ReportTime string `json:"report_time"`
	Success    bool   `json:"success"`
	Code       string `json:"err_code"`
	Message    string `json:"err_msg"`
	Size       string `json:"sms_size"`
	BizID      string `json:"biz_id"`
	OutID      string `json:"out_id"`
}

// tencentReport is one element of Tencent's status callback.
type tencentReport struct {
	Received    string `json:"user_receive_time"`
	Nation      string `json:"nationcode"`
	Mobile      string `json:"mobile"`
	Status      string `json:"report_status"`
	Code        string `json:"errmsg"`
	Description string `json:"description"`
	SerialNo    string `json:"sid"`
	Ext         string `json:"ext,omitempty"`
}

// request makes a provider's receipt of an accepted send. expects is how the answer to it must begin, without blanks.
func (p *poster) request(how Receipts, rule ReceiptRule, e Entry) (r *http.Request, expects string, err error) {
	now := p.now()
	switch e.Provider {
	case Aliyun:
		report := aliyunReport{
			Phone: strings.TrimPrefix(e.Recipient, "+86"), SendTime: e.Time.In(beijing()).Format(time.DateTime),
			ReportTime: now.In(beijing()).Format(time.DateTime), Success: rule.Code == "", Code: "DELIVERED",
			Message: "用户接收成功", Size: "1", BizID: e.MessageID, OutID: e.Reference,
		}
		if rule.Code != "" {
			report.Code, report.Message = rule.Code, "短信未送达 "+report.Phone
		}
		r, err = posting(how.URLs[Aliyun], []aliyunReport{report})
		return r, `{"code":0,`, err
	case Tencent:
		report := tencentReport{
			Received: now.In(beijing()).Format(time.DateTime), Nation: "86", Mobile: strings.TrimPrefix(e.Recipient, "+86"),
			Status: "SUCCESS", Code: "DELIVRD", Description: "用户短信送达成功", SerialNo: e.MessageID,
		}
		if rule.Code != "" {
			report.Status, report.Code, report.Description = "FAIL", rule.Code, "短信送达失败 "+report.Mobile
		}
		if how.Ext {
			report.Ext = e.Reference
		}
		r, err = posting(how.URLs[Tencent], []tencentReport{report})
		return r, `{"result":0,`, err
	}
	r, err = p.wechatEvent(how, rule, e)
	return r, "success", err
}

// posting is a POST of JSON.
func posting(to string, body any) (*http.Request, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, to, bytes.NewReader(text))
	if err == nil {
		r.Header.Set("Content-Type", "application/json;charset=utf-8")
	}
	return r, err
}

// wechatEvent is the event TEMPLATESENDJOBFINISH, signed, and encrypted where a key is set.
func (p *poster) wechatEvent(how Receipts, rule ReceiptRule, e Entry) (*http.Request, error) {
	status := "success"
	if rule.Code != "" {
		status = "failed:" + strings.ReplaceAll(rule.Code, "_", " ")
	}
	stamp := strconv.FormatInt(p.now().Unix(), 10)
	body := fmt.Sprintf("<xml><ToUserName><![CDATA[gh_sandbox]]></ToUserName><FromUserName><![CDATA[%s]]></FromUserName>"+
		"<CreateTime>%s</CreateTime><MsgType><![CDATA[event]]></MsgType><Event><![CDATA[TEMPLATESENDJOBFINISH]]></Event>"+
		"<MsgID>%s</MsgID><Status><![CDATA[%s]]></Status></xml>", e.Recipient, stamp, e.MessageID, status)
	nonce := rand.Text()
	query := url.Values{"timestamp": {stamp}, "nonce": {nonce}, "openid": {e.Recipient}, "signature": {wechatSign(how.Token, stamp, nonce)}}
	if how.AESKey != "" {
		encrypted, err := wechatSeal(how.AESKey, body, p.keys.ID)
		if err != nil {
			return nil, err
		}
		query.Set("encrypt_type", "aes")
		query.Set("msg_signature", wechatSign(how.Token, stamp, nonce, encrypted))
		body = fmt.Sprintf("<xml><ToUserName><![CDATA[gh_sandbox]]></ToUserName><Encrypt><![CDATA[%s]]></Encrypt></xml>", encrypted)
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, how.URLs[WeChat]+"?"+query.Encode(), strings.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "text/xml")
	}
	return r, err
}

// wechatSign is the SHA-1 of the parts, sorted and joined.
func wechatSign(parts ...string) string {
	sum := sha1.Sum([]byte(strings.Join(slices.Sorted(slices.Values(parts)), ""))) //nolint:gosec // WeChat's own choice
	return hex.EncodeToString(sum[:])
}

// wechatKey reads an EncodingAESKey.
func wechatKey(aesKey string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(aesKey + "=")
	if err != nil || len(key) != 32 {
		return nil, errors.New("aes_key has not the 43 characters of an EncodingAESKey")
	}
	return key, nil
}

// wechatSeal encrypts a message for an account.
func wechatSeal(aesKey, message, appID string) (string, error) {
	key, err := wechatKey(aesKey)
	if err != nil {
		return "", err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	text := binary.BigEndian.AppendUint32([]byte(rand.Text()[:16]), uint32(len(message)))
	text = append(append(text, message...), appID...)
	pad := 32 - len(text)%32
	text = append(text, bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, key[:aes.BlockSize]).CryptBlocks(text, text)
	return base64.StdEncoding.EncodeToString(text), nil
}

// send posts r and reports whether the answer is the one that the provider expects.
func (p *poster) send(r *http.Request, expects string) bool {
	answer, err := p.client.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	said := strings.Join(strings.Fields(string(body)), "")
	return err == nil && answer.StatusCode == http.StatusOK && strings.HasPrefix(said, expects)
}
