package channeltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider" //nolint:depguard // the suite's other side, in tests alone
)

// want is how a sender must read one outcome.
type want struct {
	class    push.Class
	code     string // "": not looked at
	unsent   bool
	accepted int // by the provider
	requests int // that reached the provider
}

func (h Harness) check(t *testing.T, box *provider.Sandbox, err error, w want) {
	t.Helper()
	f := Failure(t, err)
	if f.Class != w.class || f.Unsent != w.unsent || w.code != "" && f.Code != w.code {
		t.Errorf("failure %s code %q unsent %v, want %s code %q unsent %v: %v", f.Class, f.Code, f.Unsent, w.class, w.code, w.unsent, err)
	}
	if got := box.Journal().Count(h.Message.Reference); got != w.accepted {
		t.Errorf("accepted %d times, want %d", got, w.accepted)
	}
	if got := box.Requests(h.Provider, provider.CallSend); got != w.requests {
		t.Errorf("%d requests reached the provider, want %d", got, w.requests)
	}
	h.checkClean(t, err)
}

// checkClean looks for what no error may show, in everything that could be printed of it.
func (h Harness) checkClean(t *testing.T, err error) {
	t.Helper()
	f := push.FailureOf(err)
	printed := fmt.Sprintf("%v %+v", err, *f)
	if f.Err != nil {
		printed += fmt.Sprintf(" %v %+v %v", f.Err, f.Err, errors.Unwrap(f.Err))
	}
	secrets := append([]string{
		h.Message.Recipient, strings.TrimPrefix(h.Message.Recipient, "+86"), provider.DefaultSecret,
		"access_token=", "Signature=", "sandbox-access-token",
	}, h.Secrets...)
	for _, secret := range secrets {
		if strings.Contains(printed, secret) {
			t.Errorf("the error shows %q: %s", secret, printed)
		}
	}
}

func (h Harness) refused(t *testing.T) {
	for _, r := range h.Refusals {
		t.Run(r.Code, func(t *testing.T) {
			t.Parallel()
			message := r.Message + " for " + h.Message.Recipient
			box, sender := h.open(t, provider.Fault{Kind: provider.Refuse, Code: r.Code, Message: message})
			_, err := sender.Send(context.Background(), h.Message)
			f := Failure(t, err)
			if f.Class != r.Class || f.Scope != r.Scope || f.Code != r.Code || r.Wait != 0 && f.Wait != r.Wait {
				t.Errorf("failure %s scope %q code %q wait %v, want %+v", f.Class, f.Scope, f.Code, f.Wait, r)
			}
			if r.Message != "" && !strings.Contains(f.Message, r.Message) {
				t.Errorf("message %q, want the provider's words %q", f.Message, r.Message)
			}
			if box.Journal().Total("") != 0 {
				t.Error("a refused send was accepted")
			}
			h.checkClean(t, err)
		})
	}
}

func (h Harness) answers(t *testing.T) {
	huge := `{"filler":"` + strings.Repeat("x", 2<<20) + `"}`
	for name, c := range map[string]struct {
		status int
		body   string
		class  push.Class
		code   string
	}{
		"no code":                 {200, h.NoCode, push.Ambiguous, "answer_without_code"},
		"empty object":            {200, `{}`, push.Ambiguous, "answer_without_code"},
		"empty body":              {200, ``, push.Ambiguous, "answer_without_code"},
		"text":                    {200, `ok`, push.Ambiguous, "answer_without_code"},
		"array":                   {200, `[1]`, push.Ambiguous, "answer_without_code"},
		"wrong types":             {200, `{"Code":7,"errcode":"x","Response":[]}`, push.Ambiguous, "answer_without_code"},
		"half":                    {200, h.NoCode[:len(h.NoCode)-1], push.Ambiguous, "answer_without_code"},
		"huge":                    {200, huge, push.Ambiguous, "answer_too_large"},
		"redirect":                {307, ``, push.Ambiguous, "http_307"},
		"403 page":                {403, `<html>no</html>`, push.Ambiguous, "http_403"},
		"404 without body":        {404, ``, push.Ambiguous, "http_404"},
		"429 without code":        {429, `slow down`, push.NotSent, "http_429"},
		"429 without code, JSON":  {429, `{}`, push.NotSent, "http_429"},
		"500 text":                {500, `oops`, push.Ambiguous, "http_500"},
		"502 without body":        {502, ``, push.Ambiguous, "http_502"},
		"503 JSON without a code": {503, `{"error":"busy"}`, push.Ambiguous, "http_503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, sender := h.open(t, provider.Fault{Kind: provider.Answer, Status: c.status, Body: c.body})
			_, err := sender.Send(context.Background(), h.Message)
			h.check(t, box, err, want{class: c.class, code: c.code, requests: 1})
		})
	}
}

func (h Harness) faults(t *testing.T) {
	for _, c := range []struct {
		kind     provider.Kind
		code     string
		accepted int
	}{
		{provider.Stall, "timeout", 0},
		{provider.AcceptThenStall, "timeout", 1},
		{provider.Reset, "connection_lost", 0},
		{provider.AcceptThenReset, "connection_lost", 1},
		{provider.AcceptThenCut, "connection_lost", 1},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			box, sender := h.open(t, provider.Fault{Kind: c.kind})
			_, err := sender.Send(context.Background(), h.Message)
			h.check(t, box, err, want{class: push.Ambiguous, code: c.code, accepted: c.accepted, requests: 1})
		})
	}
	t.Run("late acceptance", func(t *testing.T) {
		t.Parallel()
		box, sender := h.open(t, provider.Fault{Kind: provider.Late, Delay: provider.Duration(2 * Timeout)})
		_, err := sender.Send(context.Background(), h.Message)
		if f := Failure(t, err); f.Class != push.Ambiguous {
			t.Errorf("class %s, want ambiguous: it is accepted later", f.Class)
		}
		for end := time.Now().Add(5 * time.Second); box.Journal().Total("") == 0 && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond) // polls, with a deadline
		}
		h.check(t, box, err, want{class: push.Ambiguous, code: "timeout", accepted: 1, requests: 1})
	})
	t.Run("slow answer in time", func(t *testing.T) {
		t.Parallel()
		_, sender := h.open(t, provider.Fault{Kind: provider.Latency, Delay: provider.Duration(Timeout / 5)})
		if _, err := sender.Send(context.Background(), h.Message); err != nil {
			t.Error(err)
		}
	})
}

func (h Harness) nothingLeft(t *testing.T) {
	for name, c := range map[string]struct {
		endpoint func(t *testing.T) string
		code     string
	}{
		"connection refused": {refusedEndpoint, "dial"},
		"unknown host":       {unknownEndpoint, "dns"},
		"untrusted TLS":      {untrustedEndpoint, "tls"},
		"no TLS at all":      {plainEndpoint, "tls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender := h.New(t, c.endpoint(t), 5*time.Second)
			t.Cleanup(sender.Close)
			_, err := sender.Send(context.Background(), h.Message)
			f := Failure(t, err)
			if f.Class != push.NotSent || !f.Unsent || !strings.HasSuffix(f.Code, c.code) {
				t.Errorf("failure %s code %q unsent %v, want not_sent code %q, unsent: %v", f.Class, f.Code, f.Unsent, c.code, err)
			}
			h.checkClean(t, err)
		})
	}
}

// unknownEndpoint is a host that cannot be: no resolver is asked, so none can be slow.
func unknownEndpoint(*testing.T) string { return "http://" + strings.Repeat("x", 64) + ".invalid" }

// refusedEndpoint is a port on which nobody listens.
func refusedEndpoint(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

func untrustedEndpoint(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = silent()
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func plainEndpoint(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http://", "https://", 1)
}

func (h Harness) context(t *testing.T) {
	t.Run("over before the send", func(t *testing.T) {
		t.Parallel()
		box, sender := h.open(t)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := sender.Send(ctx, h.Message)
		h.check(t, box, err, want{class: push.NotSent, unsent: true})
	})
	t.Run("over during the send", func(t *testing.T) {
		t.Parallel()
		box, sender := h.open(t, provider.Fault{Kind: provider.Stall})
		ctx, cancel := context.WithCancel(context.Background())
		go func() { // ends with the request or the poll's deadline
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if box.Requests(h.Provider, provider.CallSend) > 0 {
					break
				}
			}
			cancel()
		}()
		_, err := sender.Send(ctx, h.Message)
		h.check(t, box, err, want{class: push.Ambiguous, code: "canceled", requests: 1})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v does not tell its cause", err)
		}
	})
	t.Run("shorter than the timeout", func(t *testing.T) {
		t.Parallel()
		box, sender := h.open(t, provider.Fault{Kind: provider.Stall})
		ctx, cancel := context.WithTimeout(context.Background(), Timeout/2)
		defer cancel()
		_, err := sender.Send(ctx, h.Message)
		h.check(t, box, err, want{class: push.Ambiguous, code: "timeout", requests: 1})
	})
}
