package receipts

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard lets in who knows the secret path and comes from an address of the list.
type guard struct {
	open    bool              // no secret is asked for
	secret  [sha256.Size]byte // of the secret: compared in a time that depends on neither
	allow   []netip.Prefix
	proxies []netip.Prefix
}

func newGuard(secret string, allow, proxies []netip.Prefix) guard {
	return guard{open: secret == "", secret: sha256.Sum256([]byte(secret)), allow: allow, proxies: proxies}
}

// refuses is the status to refuse r with, 0 to let it in. Who does not know the secret is not told that there is a
// door.
func (g guard) refuses(r *http.Request) int {
	given := sha256.Sum256([]byte(r.PathValue("secret")))
	switch {
	case !g.open && subtle.ConstantTimeCompare(given[:], g.secret[:]) != 1:
		return http.StatusNotFound
	case len(g.allow) > 0 && !within(g.allow, Client(r, g.proxies)):
		return http.StatusForbidden
	}
	return 0
}

// Client is the address that r comes from: the peer's, or behind our own proxies the last one that is none of them.
// What stands further left in X-Forwarded-For was written by who knows whom. It is the zero address, which is in no
// list, when a proxy names none.
func Client(r *http.Request, proxies []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := peer.Addr().Unmap()
	if !within(proxies, addr) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		addr, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return netip.Addr{}
		}
		if addr = addr.Unmap(); !within(proxies, addr) {
			return addr
		}
	}
	return netip.Addr{}
}

// within reports whether addr is in one of the prefixes.
func within(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr.WithZone("")) })
}
