package aliyun

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// algorithm is Alibaba Cloud's third signature scheme.
const algorithm = "ACS3-HMAC-SHA256"

// signed are the headers that a signature covers, in its order.
const signed = "host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version"

// api is one call of an API in RPC style: all parameters in the query, no body.
type api struct {
	action  string
	version string
	params  map[string]string
}

// sign writes the call into r, a POST without body: query, headers and signature. The canonical path is always "/": a
// base URL with a path is a proxy that takes it off.
func (a api) sign(r *http.Request, keyID, secret string, now time.Time, nonce string) {
	query := canonicalQuery(a.params)
	r.URL.RawQuery = query
	body := hexSHA256("")
	for name, value := range map[string]string{
		"x-acs-action": a.action, "x-acs-version": a.version, "x-acs-content-sha256": body,
		"x-acs-date": now.UTC().Format("2006-01-02T15:04:05Z"), "x-acs-signature-nonce": nonce,
	} {
		r.Header.Set(name, value)
	}
	var headers strings.Builder
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.URL.Host
		}
		headers.WriteString(name + ":" + value + "\n")
	}
	canonical := strings.Join([]string{r.Method, "/", query, headers.String(), signed, body}, "\n")
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(algorithm + "\n" + hexSHA256(canonical)))
	r.Header.Set("Authorization", algorithm+" Credential="+keyID+",SignedHeaders="+signed+",Signature="+hex.EncodeToString(mac.Sum(nil)))
}

// canonicalQuery encodes by RFC 3986, sorted by name: what is signed is what goes over the wire.
func canonicalQuery(params map[string]string) string {
	pairs := make([]string, 0, len(params))
	for _, name := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, encode(name)+"="+encode(params[name]))
	}
	return strings.Join(pairs, "&")
}

// encode is RFC 3986: url.QueryEscape differs from it by the space alone.
func encode(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func hexSHA256(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
