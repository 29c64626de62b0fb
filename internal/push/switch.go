package push

import "time"

// Switch takes a claim on to its channel's next provider (rule P5): what became of its attempt, and who is called next.
type Switch struct {
	Result // of the attempt that ends: NotSent, or a refusal of its own provider's; anything else is not followed

	Next  string        // the provider of the next attempt, named in the row before it is called
	Lease time.Duration // the next attempt's row lease
}
