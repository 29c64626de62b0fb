package push

import (
	"crypto/hmac"
	"crypto/sha256"
	"time"
)

// Report is what a receipt says of its message.
type Report string

// The words of a receipt.
const (
	ReportDelivered   Report = "delivered"
	ReportUndelivered Report = "undelivered"
	ReportUnreadable  Report = "unreadable" // kept for people, matched with nothing
)

// Receipt is a provider's later word on what became of a message that it had accepted. Nothing in it is personal:
// what names the recipient is masked or hashed before it gets here.
type Receipt struct {
	Provider      string
	Report        Report
	MessageID     string    // the provider's id of the message; may be empty
	Reference     string    // ours, where the provider carries it; may be empty
	Recipient     string    // masked
	RecipientHash []byte    // see HashRecipient; nil without a key
	Code          string    // the carrier's or the provider's
	Message       string    // the provider's words
	ReportedAt    time.Time // by the provider's clock; zero when not said
	Raw           string    // as received, the recipient masked
	Digest        []byte    // the same word twice has the same digest
}

// Kept is what became of a receipt at its arrival.
type Kept struct {
	ID       int64
	Repeated bool // the same word had come before
}

// Effect is what a receipt did to the delivery it is about.
type Effect string

// The effects of a matched receipt.
const (
	EffectSettled Effect = "settled"       // the delivery is delivered or undelivered by it
	EffectLate    Effect = "late"          // the delivery had its last word already
	EffectOther   Effect = "other_message" // failed, but not the last message of its delivery: that one decides
)

// Matched is a receipt that found its delivery.
type Matched struct {
	DeliveryID int64
	Provider   string
	Report     Report
	Effect     Effect
	Code       string
	Waited     time.Duration // from the acceptance to the receipt; 0 when the receipt was the first to say so
}

// HashRecipient is the keyed hash by which a recipient is found without being kept; nil without address or key.
func HashRecipient(full string, key []byte) []byte {
	if full == "" || len(key) == 0 {
		return nil
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(full))
	return mac.Sum(nil)
}
