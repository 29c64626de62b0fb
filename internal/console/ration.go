package console

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How often one address may try to sign in: a handful at once, then one in twelve seconds. A token has sixteen
// characters or more, so that this slows guessing that was hopeless before.
const (
	triesAtOnce = 5
	tryEvery    = 12 * time.Second
	addresses   = 10_000 // remembered; then those that rested, or all, are forgotten
)

// ration counts the sign-ins of each address.
type ration struct {
	mu    sync.Mutex
	tries map[netip.Addr]*rate.Limiter // guarded by mu
}

// take uses one try of the address; false when it has none left.
func (r *ration) take(addr netip.Addr, now time.Time) bool {
	addr = network(addr)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tries == nil || len(r.tries) >= addresses {
		r.forget(now)
	}
	left, ok := r.tries[addr]
	if !ok {
		left = rate.NewLimiter(rate.Every(tryEvery), triesAtOnce)
		r.tries[addr] = left
	}
	return left.AllowN(now, 1)
}

// forgive gives an address that signed in its tries back.
func (r *ration) forgive(addr netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tries, network(addr))
}

// forget drops the addresses that have all their tries again; where that makes no room, all of them.
func (r *ration) forget(now time.Time) {
	for addr, left := range r.tries {
		if left.TokensAt(now) >= triesAtOnce {
			delete(r.tries, addr)
		}
	}
	if r.tries == nil || len(r.tries) >= addresses {
		r.tries = map[netip.Addr]*rate.Limiter{}
	}
}

// network is what one guesser has for itself: an IPv4 address, or a whole /64 of IPv6.
func network(addr netip.Addr) netip.Addr {
	if addr.Is6() && !addr.Is4In6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return addr.Unmap()
}
