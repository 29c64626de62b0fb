package push

import "time"

// Part is one partition as an audit finds it: the offsets of a time, and how far the group has got.
type Part struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	From      int64  `json:"from"`      // the first offset of the time
	To        int64  `json:"to"`        // one past its last
	Committed int64  `json:"committed"` // what the group has committed; -1: nothing
	End       int64  `json:"end"`       // one past the last record of all
}

// Twice is a delivery that the push log itself shows to have been accepted more than once.
type Twice struct {
	Identity

	ID    int64
	Round int
	What  string // in words
	Known bool   // an operator or a policy took the risk: possible_duplicate
}

// Stray is something that a delivery leaves behind, where no delivery is.
type Stray struct {
	DeliveryID int64
	What       string
	At         time.Time
}
