package channels

import "encoding/json"

// ID is a provider's id of a message, every digit of it: some write it as a JSON string, some as a number, which may
// be beyond what a float holds.
type ID string

// UnmarshalJSON takes a string or a number; anything else is no id and leaves it empty.
func (i *ID) UnmarshalJSON(text []byte) error {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(text, &s) == nil:
		*i = ID(s)
	case json.Unmarshal(text, &n) == nil:
		*i = ID(n.String())
	}
	return nil
}
