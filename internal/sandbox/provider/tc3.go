package provider

import (
	"crypto/hmac"
	"encoding/hex"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tc3Clock is how far a request's time may be off.
const tc3Clock = 5 * time.Minute

var tc3Form = regexp.MustCompile(
	`^TC3-HMAC-SHA256 Credential=([^/]+)/([0-9-]{10})/([a-z]+)/tc3_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$`)

// checkTC3 returns nil for a request that is signed as Tencent Cloud wants it.
func checkTC3(r *http.Request, body []byte, keys Keys, now time.Time) *refusal {
	form := tc3Form.FindStringSubmatch(r.Header.Get("Authorization"))
	seconds, err := strconv.ParseInt(r.Header.Get("X-Tc-Timestamp"), 10, 64)
	switch at := time.Unix(seconds, 0).UTC(); {
	case form == nil || err != nil:
		return &refusal{code: "AuthFailure.InvalidAuthorization", message: "the Authorization header is not of TC3's form"}
	case form[1] != keys.ID:
		return &refusal{code: "AuthFailure.SecretIdNotFound", message: "The SecretId is not found."}
	case now.Sub(at).Abs() > tc3Clock || at.Format(time.DateOnly) != form[2]:
		return &refusal{code: "AuthFailure.SignatureExpire", message: "The signature is expired."}
	}
	if want := tc3Signature(r, body, form[2], form[3], form[4], keys.Secret); !hmac.Equal([]byte(want), []byte(form[5])) {
		return &refusal{code: "AuthFailure.SignatureFailure", message: "The provided credentials could not be validated."}
	}
	return nil
}

// tc3Signature computes what the signature must be, from the request as it came over the wire.
func tc3Signature(r *http.Request, body []byte, date, service, signed, secret string) string {
	var headers strings.Builder
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		headers.WriteString(name + ":" + strings.ToLower(strings.TrimSpace(value)) + "\n")
	}
	canonical := strings.Join([]string{r.Method, "/", r.URL.RawQuery, headers.String(), signed, hexSHA256(body)}, "\n")
	text := "TC3-HMAC-SHA256\n" + r.Header.Get("X-Tc-Timestamp") + "\n" +
		date + "/" + service + "/tc3_request\n" + hexSHA256([]byte(canonical))
	key := hmacSHA256([]byte("TC3"+secret), date)
	key = hmacSHA256(hmacSHA256(key, service), "tc3_request")
	return hex.EncodeToString(hmacSHA256(key, text))
}
