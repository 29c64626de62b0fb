package receipts

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/push"
)

// The providers that send receipts.
const (
	aliyun  = "aliyun"
	tencent = "tencent"
	wechat  = "wechat"
)

// Config says who is believed. A door without any guard is not opened.
type Config struct {
	// SecretPath is the last part of the SMS doors' paths, /receipts/aliyun/<secret>, as neither provider signs. With
	// Allow alone, the path ends with the provider.
	SecretPath string
	Allow      []netip.Prefix // the addresses that SMS receipts may come from; empty: any that knows the secret
	Proxies    []netip.Prefix // whose X-Forwarded-For is believed
	WeChat     WeChat

	Region  string // of phones without country code
	HashKey []byte // of push.HashRecipient

	Log   zerolog.Logger
	Meter Meter
	Now   func() time.Time
}

// WeChat is the account's message settings, as in its console.
type WeChat struct {
	Token  string // empty: no WeChat receipts
	AESKey string // EncodingAESKey, 43 characters: only encrypted messages are then believed
	AppID  string
}

// Log is the push log.
type Log interface {
	KeepReceipts(ctx context.Context, receipts []push.Receipt) ([]push.Kept, error)
	MatchReceipts(ctx context.Context, limit int, ids []int64) (matched []push.Matched, looked int, err error)
}

// Meter counts receipts.
type Meter interface {
	Receipts(provider, outcome string, n int) // outcome: one of the Outcome constants
	Matched(m push.Matched)
}

// What became of a receipt, or of a whole call, at its arrival.
const (
	OutcomeNew        = "new"
	OutcomeRepeated   = "repeated"
	OutcomeUnreadable = "unreadable"
	OutcomeUnmatched  = "unmatched" // new, but its delivery is not found yet
	OutcomeRefused    = "refused"   // a call without proof of its sender
	OutcomeLost       = "lost"      // could not be stored: the provider is asked to come again
)

// Doors are the three handlers, and what they share.
type Doors struct {
	cfg    Config
	log    Log
	guard  guard
	cipher *cipherOf // nil: WeChat in plain mode
}

// New makes the doors over the push log. The only error is a WeChat AES key that is none.
func New(c Config, log Log) (*Doors, error) {
	d := &Doors{cfg: c, log: log, guard: newGuard(c.SecretPath, c.Allow, c.Proxies)}
	if c.WeChat.AESKey != "" {
		cipher, err := newCipher(c.WeChat.AESKey, c.WeChat.AppID)
		if err != nil {
			return nil, err
		}
		d.cipher = cipher
	}
	return d, nil
}

// Hang puts the doors that have a guard on mux.
func (d *Doors) Hang(mux *http.ServeMux) {
	for name, door := range map[string]http.HandlerFunc{aliyun: d.aliyun, tencent: d.tencent} {
		switch {
		case d.cfg.SecretPath != "":
			mux.HandleFunc("POST /receipts/"+name+"/{secret}", door)
		case len(d.cfg.Allow) > 0:
			mux.HandleFunc("POST /receipts/"+name, door)
		}
	}
	if d.cfg.WeChat.Token != "" {
		mux.HandleFunc("GET /receipts/wechat", d.echo)
		mux.HandleFunc("POST /receipts/wechat", d.wechat)
	}
}
