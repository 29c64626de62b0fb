package push

// Lookup names a row to read; Round 0 means the delivery's latest round.
type Lookup struct {
	Identity

	Round int
}
