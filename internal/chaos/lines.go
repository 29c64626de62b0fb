package chaos

import (
	"fmt"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"pusher/internal/sandbox/local"
)

// lines are the proxies between processes and services. They are made before the fleet starts; each is then in the
// hands of one fault at a time.
type lines struct {
	server *toxiproxy.ApiServer // never listens: it only carries what proxies ask it for
	each   map[string]*line
}

// line is one proxy, which a mended line has anew.
type line struct {
	listen, upstream string

	proxy *toxiproxy.Proxy
}

func newLines() *lines {
	return &lines{
		server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		each:   map[string]*line{},
	}
}

// freeAddr is an address for a line that must be known before its upstream is.
func freeAddr() (string, error) {
	port, err := local.FreePort()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// add opens a line from the address listen to upstream.
func (l *lines) add(name, listen, upstream string) error {
	l.each[name] = &line{listen: listen, upstream: upstream}
	return l.open(name)
}

// open gives a line a proxy of its own, without any toxic.
func (l *lines) open(name string) error {
	one := l.each[name]
	one.proxy = toxiproxy.NewProxy(l.server, name, one.listen, one.upstream)
	if err := one.proxy.Start(); err != nil {
		return fmt.Errorf("opening the line %s: %w", name, err)
	}
	return nil
}

// cut closes a line and every connection on it.
func (l *lines) cut(name string) { l.each[name].proxy.Stop() }

// poison adds toxics, in toxiproxy's own JSON, to the connections of a line and to those that come.
func (l *lines) poison(name string, toxics ...string) error {
	for _, toxic := range toxics {
		if _, err := l.each[name].proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
			return fmt.Errorf("poisoning the line %s: %w", name, err)
		}
	}
	return nil
}

// mend makes a line whole. What was on it is cut: taking a toxic off a connection that nobody reads would drop bytes
// out of its middle, which no network does. The proxy is a new one, since taking toxics off a proxy waits for its links,
// and for one that ends at that moment for ever.
func (l *lines) mend(name string) error {
	l.cut(name)
	return l.open(name)
}

func (l *lines) close() {
	for name := range l.each {
		l.cut(name)
	}
}

// The toxics of each kind of network fault, by draw.

func hungToxics() []string {
	return []string{
		`{"type":"timeout","stream":"upstream","attributes":{"timeout":0}}`,
		`{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`,
	}
}

// halfHungToxics let requests through and swallow the answers, or the other way round.
func halfHungToxics(draw uint64) []string { return hungToxics()[draw%2 : draw%2+1] }

func slowToxics(draw uint64) []string {
	latency := 100 + draw%2400 // ms
	var toxics []string
	for i, stream := range []string{"upstream", "downstream"} {
		if (draw>>32)%3 != uint64(i) { // one of them, or both
			toxics = append(toxics, fmt.Sprintf(`{"type":"latency","stream":%q,"attributes":{"latency":%d,"jitter":%d}}`,
				stream, latency, latency/2))
		}
	}
	return toxics
}

func resetToxics(draw uint64) []string {
	return []string{fmt.Sprintf(`{"type":"reset_peer","stream":%q,"attributes":{"timeout":%d}}`,
		[]string{"upstream", "downstream"}[draw%2], draw>>32%200)}
}
