package store_test

import (
	"bytes"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"pusher/internal/store"
	"pusher/internal/testbed"
)

// lossy stands between a store and PostgreSQL and can break the connection once, before or after the server has
// committed.
type lossy struct {
	net.Listener

	server      string
	loseAnswer  atomic.Bool // of the next batch: the server commits, nobody hears of it
	loseRequest atomic.Bool // the next batch never gets there
}

// overLossy opens a store through a lossy connection; beside it rows has a direct one.
func overLossy(t *testing.T) (rows, *lossy) {
	t.Helper()
	direct := at(t, testbed.Postgres(t), "")
	target, err := url.Parse(direct.db.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &lossy{Listener: listener, server: target.Host}
	go l.serve() // ends when the test closes the listener
	t.Cleanup(func() { _ = l.Close() })
	target.Host = l.Addr().String()
	query := target.Query()
	query.Set("default_query_exec_mode", "exec") // one exchange a batch, so that its answer can be told apart
	target.RawQuery = query.Encode()
	s, err := store.Open(t.Context(), store.Config{URL: target.String(), MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return rows{Store: s, db: direct.db}, l
}

func (l *lossy) serve() {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).Dial("tcp", l.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		go l.carry(server, client, &l.loseRequest, nil) // both end when either side closes
		go l.carry(client, server, &l.loseAnswer, readyForQuery)
	}
}

// readyForQuery ends every exchange of PostgreSQL's protocol: what came before it is committed.
var readyForQuery = []byte{'Z', 0, 0, 0, 5, 'I'}

// carry copies from src to dst until it is told to lose something: it then drops what it has, waits for until to
// pass by, and closes both.
func (l *lossy) carry(dst, src net.Conn, lose *atomic.Bool, until []byte) {
	defer dst.Close()
	defer src.Close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := src.Read(buffer)
		if lose.Load() && n > 0 {
			seen := append([]byte(nil), buffer[:n]...)
			for !bytes.HasSuffix(seen, until) && err == nil {
				n, err = src.Read(buffer)
				seen = append(seen, buffer[:n]...)
			}
			lose.Store(false)
			return
		}
		if n > 0 {
			if _, err := dst.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
