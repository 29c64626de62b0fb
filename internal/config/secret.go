package config

import (
	"fmt"
	"io"
)

// hidden is what every printed secret looks like.
const hidden = "***"

// Secret is a value that never shows itself: every printed, marshalled or logged form of it is "***". Convert it with
// Reveal at the edge that needs it.
type Secret string

// Reveal gives the value itself.
func (s Secret) Reveal() string { return string(s) }

// String hides the value, but not whether there is one.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// Format hides the value under every verb, the wrong ones too.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText hides the value in JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
