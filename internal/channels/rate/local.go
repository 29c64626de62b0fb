package rate

import "time"

const (
	// unknownInstances is how many share a rate while nobody has said how many do: a process that starts while Redis is
	// away keeps the rate of a small installation, at the price of being slow in one of a single process.
	unknownInstances = 4

	// settling is how long a process keeps to its share after Redis is back, too: the others still keep to theirs until
	// they have found out.
	settling = 2 * time.Second

	slowest    = 1.0 / 16         // of the pace, however often the provider says that it is too fast
	slowedOnce = time.Second      // what it says again within this is about requests that were on their way
	recovers   = 20 * time.Second // from nothing to the whole pace
)

// local is this process's own part of the rate, and when it counts. It is not safe for concurrent use.
type local struct {
	on        bool      // Redis does not answer
	until     time.Time // it counts as well as the shared rate, after Redis came back
	instances int       // that share the rate; 0: not known
	next      time.Time // the next slot of our own

	factor float64   // of the pace, at slowed; 0: never slowed
	slowed time.Time // when the provider said that we are too fast
}

// company is by how many the rate is divided.
func (o *local) company() int {
	if o.instances == 0 {
		return unknownInstances
	}
	return o.instances
}

// slow halves the pace.
func (o *local) slow(now time.Time) {
	if o.factor == 0 || now.Sub(o.slowed) >= slowedOnce {
		o.factor, o.slowed = max(o.pace(now)/2, slowest), now
	}
}

// pace is the part of the rate that we go at: 1, or less for a while after the provider said that we are too fast.
func (o *local) pace(now time.Time) float64 {
	if o.factor == 0 {
		return 1
	}
	return min(1, o.factor+now.Sub(o.slowed).Seconds()/recovers.Seconds())
}

// counts reports whether our own slots hold us back.
func (o *local) counts(now time.Time) bool { return o.on || now.Before(o.until) || o.pace(now) < 1 }

// slot gives the next slot of our own that is not before at; interval is that of the whole rate.
func (o *local) slot(at time.Time, interval time.Duration) time.Time {
	if o.next.After(at) {
		at = o.next
	}
	o.next = at.Add(time.Duration(float64(interval) * float64(o.company()) / o.pace(at)))
	return at
}
