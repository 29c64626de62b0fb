package push

// Answer is the store's answer to one item of a batch: the row's last word, or that item's own failure. One item's
// failure says nothing about the others.
type Answer struct {
	Row Row
	Err error
}
