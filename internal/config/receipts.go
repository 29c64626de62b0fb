package config

import (
	"encoding/base64"
	"net/netip"
	"regexp"
	"time"
)

// Receipts is the providers' door: whom it believes. A door without guard stays shut.
type Receipts struct {
	SecretPath    Secret         `yaml:"secret_path"`    // last part of /receipts/aliyun/... and /receipts/tencent/...; they do not sign
	Allow         []string       `yaml:"allow"`          // addresses or CIDR ranges that SMS receipts come from; empty: any that knows the secret
	Proxies       []string       `yaml:"proxies"`        // addresses or CIDR ranges of our proxies, whose X-Forwarded-For is believed
	KeepUnmatched time.Duration  `yaml:"keep_unmatched"` // how long a receipt without delivery is kept [168h]
	WeChat        WeChatReceipts `yaml:"wechat"`
}

// WeChatReceipts is the account's message settings, as in its console.
type WeChatReceipts struct {
	Token          Secret `yaml:"token"`            // empty: no WeChat receipts
	EncodingAESKey Secret `yaml:"encoding_aes_key"` // then only encrypted messages are believed
}

// defaultReceipts is the section of an empty file: no door is open.
func defaultReceipts() Receipts {
	return Receipts{Allow: []string{}, Proxies: []string{}, KeepUnmatched: 7 * 24 * time.Hour}
}

// pathPart is what a secret path may be made of: nothing that a URL would encode.
var pathPart = regexp.MustCompile(`^[A-Za-z0-9._~-]{16,200}$`)

// validate checks the guards; no secret is shown.
func (r Receipts) validate(v *validator) {
	v.checkf(r.SecretPath == "" || pathPart.MatchString(r.SecretPath.Reveal()), "receipts.secret_path",
		"must be 16 to 200 of a-z A-Z 0-9 . _ ~ -, hard to guess")
	for key, list := range map[string][]string{"receipts.allow": r.Allow, "receipts.proxies": r.Proxies} {
		for _, text := range list {
			_, err := prefix(text)
			v.checkf(err == nil, key, "%q is neither an address nor a range, such as 203.0.113.0/24", text)
		}
	}
	v.positive("receipts.keep_unmatched", r.KeepUnmatched)
	w := r.WeChat
	key, err := base64.StdEncoding.DecodeString(w.EncodingAESKey.Reveal() + "=")
	v.checkf(w.EncodingAESKey == "" || err == nil && len(key) == 32, "receipts.wechat.encoding_aes_key",
		"is no EncodingAESKey: copy the 43 characters from the account's console")
	v.checkf(w.EncodingAESKey == "" || w.Token != "", "receipts.wechat.token", "is missing: encrypted messages are signed with it")
}

// Prefixes reads the lists of addresses, which Load has checked.
func (r Receipts) Prefixes() (allow, proxies []netip.Prefix) {
	return prefixes(r.Allow), prefixes(r.Proxies)
}

func prefixes(list []string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range list {
		if p, err := prefix(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// prefix reads an address or a range. An IPv4 address in IPv6 form is the IPv4 address that it stands for.
func prefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, err
	}
	return p.Masked(), nil
}
