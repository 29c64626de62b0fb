package channels

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"

	"pusher/internal/push"
)

// Our own codes, where no provider gave one.
const (
	CodeTimeout   = "timeout"
	CodeCanceled  = "canceled"
	CodeDNS       = "dns"
	CodeDial      = "dial"
	CodeTLS       = "tls"
	CodeLost      = "connection_lost"
	CodeTooLarge  = "answer_too_large"
	CodeUncoded   = "answer_without_code"
	codeHTTPStart = "http_" // followed by the status of an answer that is not the provider's
)

// flight watches one request on its way out: the evidence for "nothing left".
type flight struct {
	conn      *conn // carries the request; nil while there is none
	writes    int64 // begun on conn before it carried the request: the TLS handshake, earlier requests
	tlsFailed atomic.Bool
}

// trace hooks the flight into net/http. GotConn is called by the goroutine that calls RoundTrip, once a try; a
// further try is made by net/http only when nothing of the one before was written.
func (f *flight) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { f.conn = nil },
		GotConn: func(info httptrace.GotConnInfo) {
			if f.conn = under(info.Conn); f.conn != nil {
				f.writes = f.conn.writes.Load()
			}
		},
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err != nil {
				f.tlsFailed.Store(true)
			}
		},
	}
}

// stop ends the flight: the request goes no further. It reports whether anything of it may have left.
func (f *flight) stop() (left bool) { return f.conn != nil && f.conn.kill() > f.writes }

// failure classifies an exchange that ended without an answer.
func (f *flight) failure(err error) *push.Failure {
	if f.stop() {
		return &push.Failure{Class: push.Ambiguous, Code: contextCode(err, CodeLost), Err: err}
	}
	if _, unknown := errors.AsType[*net.DNSError](err); unknown {
		return unsent(CodeDNS, err)
	}
	if f.tlsFailed.Load() {
		return unsent(CodeTLS, err)
	}
	return unsent(CodeDial, err)
}

// unsent is the failure of a request of which not one byte left.
func unsent(code string, err error) *push.Failure {
	return &push.Failure{Class: push.NotSent, Code: contextCode(err, code), Unsent: true, Err: err}
}

// contextCode names the end of a context; any other error is code.
func contextCode(err error, code string) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return CodeTimeout
	case errors.Is(err, context.Canceled):
		return CodeCanceled
	}
	return code
}
