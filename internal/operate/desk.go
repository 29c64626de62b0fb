package operate

import (
	"strings"
	"time"

	"pusher/internal/push"
)

// Config is what a desk needs to know.
type Config struct {
	Policy          push.Policy
	RetryTopic      string
	DeadLetterTopic string
	HashKey         []byte           // of push.HashRecipient; without it a whole recipient is found by its masked form
	Region          string           // of phones that are written without one
	Now             func() time.Time // for words such as "in 5m"; decides nothing
	Most            int              // rows a plan holds; 0 means 100,000
}

// Ports is the world of a desk.
type Ports struct {
	Reader    Reader
	Mover     Mover
	Book      Book
	Keys      Keys      // nil: no key is read
	Publisher Publisher // nil: what is queued is left to the compensator (rule Q2)
}

// mostRows bounds a plan that is not bounded otherwise.
const mostRows = 100_000

// Desk is where operators sit. It is safe for concurrent use.
type Desk struct {
	cfg Config
	Ports
}

// New makes a desk.
func New(cfg Config, ports Ports) *Desk {
	if cfg.Most <= 0 {
		cfg.Most = mostRows
	}
	return &Desk{cfg: cfg, Ports: ports}
}

// Recipient narrows a filter to a phone, an openid or a user's inbox: a whole one is found by its keyed hash, one with
// stars in it, or without a key to hash by, as rows show it.
func (d *Desk) Recipient(f push.Filter, text string) push.Filter {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return f
	case strings.Contains(text, "*"):
		f.Recipient = text
		return f
	}
	if phone, err := push.NormalizePhone(text, d.cfg.Region); err == nil {
		text = phone
	}
	if f.RecipientHash = push.HashRecipient(text, d.cfg.HashKey); f.RecipientHash == nil {
		f.Recipient = push.Mask(text)
	}
	return f
}
