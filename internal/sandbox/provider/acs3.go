package provider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// acs3Clock is how far a request's time may be off (providers' docs: 15 minutes).
const acs3Clock = 15 * time.Minute

var acs3Form = regexp.MustCompile(`^ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([^,]+),Signature=([0-9a-f]{64})$`)

// refusal is a provider's no, before or after a look at the request.
type refusal struct {
	status  int
	code    string
	message string
}

// acs3Guard checks Aliyun's signatures and that no nonce comes twice.
type acs3Guard struct {
	mu   sync.Mutex // guards seen
	seen map[string]time.Time
}

// check returns nil for a request that is signed as Aliyun wants it.
func (g *acs3Guard) check(r *http.Request, body []byte, keys Keys, now time.Time) *refusal {
	form := acs3Form.FindStringSubmatch(r.Header.Get("Authorization"))
	switch {
	case form == nil:
		return &refusal{http.StatusBadRequest, "IncompleteSignature", "the Authorization header is not of ACS3's form"}
	case form[1] != keys.ID:
		return &refusal{http.StatusNotFound, "InvalidAccessKeyId.NotFound", "Specified access key is not found."}
	}
	signed := strings.Split(form[2], ";")
	if want := acs3Signature(r, body, signed, keys.Secret); !hmac.Equal([]byte(want), []byte(form[3])) {
		return &refusal{http.StatusBadRequest, "SignatureDoesNotMatch", "Specified signature is not matched with our calculation."}
	}
	at, err := time.Parse("2006-01-02T15:04:05Z", r.Header.Get("X-Acs-Date"))
	if err != nil || now.Sub(at).Abs() > acs3Clock {
		return &refusal{http.StatusBadRequest, "InvalidTimeStamp.Expired", "Specified time stamp or date value is expired."}
	}
	if !slices.Contains(signed, "x-acs-signature-nonce") || !g.fresh(r.Header.Get("X-Acs-Signature-Nonce"), now) {
		return &refusal{http.StatusBadRequest, "SignatureNonceUsed", "Specified signature nonce was used already."}
	}
	return nil
}

// acs3Signature computes what the signature must be, from the request as it came over the wire.
func acs3Signature(r *http.Request, body []byte, signed []string, secret string) string {
	pairs := strings.Split(r.URL.RawQuery, "&")
	for i, pair := range pairs {
		pairs[i] = strings.ReplaceAll(pair, "+", "%20")
	}
	slices.Sort(pairs)
	var headers strings.Builder
	for _, name := range signed {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	canonical := strings.Join([]string{
		r.Method, r.URL.EscapedPath(), strings.Join(pairs, "&"), headers.String(), strings.Join(signed, ";"), hexSHA256(body),
	}, "\n")
	return hex.EncodeToString(hmacSHA256([]byte(secret), "ACS3-HMAC-SHA256\n"+hexSHA256([]byte(canonical))))
}

// fresh remembers the nonce, and says whether it is new. Nonces older than the clock may be off are forgotten.
func (g *acs3Guard) fresh(nonce string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at, used := g.seen[nonce]; nonce == "" || used && now.Sub(at) < 2*acs3Clock {
		return false
	}
	if len(g.seen) > 10_000 && len(g.seen)%1_000 == 0 {
		for old, at := range g.seen {
			if now.Sub(at) > 2*acs3Clock {
				delete(g.seen, old)
			}
		}
	}
	g.seen[nonce] = now
	return true
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func hmacSHA256(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
