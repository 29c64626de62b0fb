package push

import (
	"math"
	"time"
)

// Backoff says how long a failed delivery waits before its next attempt (docs/contract.md, section 6, retry).
type Backoff struct {
	MaxAttempts int           // attempts that count; after the last the delivery is dead
	First       time.Duration // wait after the first failure
	Factor      float64       // growth from one wait to the next, >= 1
	Max         time.Duration // the longest wait
	Jitter      float64       // 0..1: the wait is spread evenly over ±this share, never beyond Max
}

// Wait is the time to wait after the used-th attempt that counted (from 1). rnd is a number in [0,1).
func (b Backoff) Wait(used int, rnd float64) time.Duration {
	wait := float64(b.First) * math.Pow(b.Factor, float64(max(used-1, 0)))
	wait = math.Min(wait, float64(b.Max))
	wait *= 1 + b.Jitter*(2*rnd-1)
	return min(time.Duration(wait), b.Max)
}
