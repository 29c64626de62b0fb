package push

import (
	"crypto/rand"
	"encoding/base32"
)

// NewOwner makes the token of one claim call: 128 random bits, never shared by two calls, processes or hosts.
func NewOwner() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])
}
