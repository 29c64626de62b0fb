package channels

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pusher/internal/push"
)

const (
	maxAnswer = 1 << 20 // bytes of an answer's body

	// idleFor keeps connections shorter than any provider does: one that the provider closes while a request goes out
	// makes that send ambiguous.
	idleFor = 10 * time.Second
)

var errAnswerTooLarge = errors.New("the answer is larger than 1 MiB")

// Transport carries requests to a provider, each once: HTTP/1.1, no redirects, no retries of its own, no longer than
// the request's context. It is an http.RoundTripper for official clients that take one, and is safe for concurrent
// use.
type Transport struct {
	http *http.Transport
}

// NewTransport makes a transport with connections of its own.
func NewTransport() *Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Transport{http: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dial(&net.Dialer{KeepAlive: 15 * time.Second}),
		Protocols:              protocols,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        idleFor,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}}
}

// Close closes the idle connections; requests that are out end by their contexts.
func (t *Transport) Close() { t.http.CloseIdleConnections() }

// RoundTrip makes the request and reads the whole answer, which is a JSON object. Its error is a *push.Failure:
// NotSent with Unsent when not one byte left, Ambiguous when the request may have left or the answer cannot be the
// provider's word.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as every RoundTripper must
		}
		return nil, unsent(CodeCanceled, err)
	}
	way := new(flight)
	answer, err := t.http.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), way.trace())))
	if err != nil {
		return nil, way.failure(err)
	}
	body, err := readAll(answer.Body)
	if err != nil {
		way.stop()
		return nil, &push.Failure{Class: push.Ambiguous, Code: readCode(err), Err: fmt.Errorf("reading the answer: %w", err)}
	}
	if f := unreadable(answer.StatusCode, body); f != nil {
		return nil, f
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// Do makes the request as RoundTrip does and returns the answer's body and status.
func (t *Transport) Do(r *http.Request) (body []byte, status int, err error) {
	answer, err := t.RoundTrip(r)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body) // in memory: RoundTrip read it
	return body, answer.StatusCode, err
}

// WithTimeout bounds ctx by timeout, if there is one; a shorter deadline of ctx's own stays.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}

func readAll(body io.ReadCloser) ([]byte, error) {
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = errAnswerTooLarge
	}
	return text, err
}

func readCode(err error) string {
	if errors.Is(err, errAnswerTooLarge) {
		return CodeTooLarge
	}
	return contextCode(err, CodeLost)
}

// unreadable is the failure of an answer that is not the provider's word: no JSON object, or a redirect.
func unreadable(status int, body []byte) *push.Failure {
	redirect := status >= http.StatusMultipleChoices && status < http.StatusBadRequest
	if text := bytes.TrimSpace(body); !redirect && len(text) > 0 && text[0] == '{' && json.Valid(text) {
		return nil
	}
	return Uncoded(status)
}

// Uncoded is the failure of an answer without a provider's code. It is ambiguous, since who gave it may have passed
// the request on; only 429 says that somebody did not.
func Uncoded(status int) *push.Failure {
	f := &push.Failure{Class: push.Ambiguous, Code: CodeUncoded, Message: "the answer has no code"}
	if status != http.StatusOK {
		f.Code = codeHTTPStart + strconv.Itoa(status)
		f.Message = "HTTP " + strconv.Itoa(status) + " without the provider's code"
	}
	if status == http.StatusTooManyRequests {
		f.Class = push.NotSent
	}
	return f
}

// ParseEndpoint reads a full base URL (http://127.0.0.1:9000); fallback is the provider's own, for "". The result has no
// slash at its end.
func ParseEndpoint(endpoint, fallback string) (*url.URL, error) {
	if endpoint == "" {
		endpoint = fallback
	}
	base, err := url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil {
		return nil, fmt.Errorf("reading the endpoint: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.User != nil {
		return nil, fmt.Errorf("endpoint %q is no base URL such as https://api.example.com", base.Redacted())
	}
	return base, nil
}
