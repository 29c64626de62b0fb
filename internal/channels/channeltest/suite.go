// Package channeltest is the suite that every sender to a provider passes: what it says of each way in which a
// provider can answer or fail, that it asks once, and that no error shows what it must not.
package channeltest

import (
	"context"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider" //nolint:depguard // the suite's other side, in tests alone
)

// Timeout is the senders' timeout in the suite: short, since some faults wait for it.
const Timeout = 250 * time.Millisecond

// Sender is what the suite tests.
type Sender interface {
	Send(ctx context.Context, m push.Message) (push.Acceptance, error)
	Provider() string
	Close()
}

// Harness makes one provider's senders.
type Harness struct {
	Provider string // as the sandbox names it

	// New makes a sender for the base URL with the timeout and the sandbox's default keys. It knows the template of
	// Message.
	New func(t *testing.T, endpoint string, timeout time.Duration) Sender

	Message push.Message
	Secrets []string // what no error may show, beside the recipient and the keys

	NoCode   string // an answer's body, HTTP 200, that is JSON but says nothing of the message
	Refusals []Refusal
}

// Refusal is one code and how the sender must read it.
type Refusal struct {
	Code    string
	Message string
	Class   push.Class
	Scope   push.Scope
	Wait    time.Duration // 0: none is asked for; the suite does not look at waits until a time of day
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Helper()
	t.Run("accepted", h.accepted)
	t.Run("refused", h.refused)
	t.Run("answers that are not the provider's word", h.answers)
	t.Run("faults on the way", h.faults)
	t.Run("nothing left", h.nothingLeft)
	t.Run("context", h.context)
}

// open starts a sandbox with these faults and a sender that talks to it.
func (h Harness) open(t *testing.T, faults ...provider.Fault) (*provider.Sandbox, Sender) {
	t.Helper()
	for i := range faults {
		faults[i].Provider = h.Provider
	}
	box := NewSandbox(t, provider.Config{Faults: faults})
	return box, h.sender(t, box.URL())
}

func (h Harness) sender(t *testing.T, endpoint string) Sender {
	t.Helper()
	s := h.New(t, endpoint, Timeout)
	t.Cleanup(s.Close)
	return s
}

// NewSandbox starts a sandbox that ends with the test.
func NewSandbox(t *testing.T, cfg provider.Config) *provider.Sandbox {
	t.Helper()
	box, err := provider.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// Failure is the *push.Failure in err; the test ends if there is none.
func Failure(t *testing.T, err error) *push.Failure {
	t.Helper()
	if err == nil {
		t.Fatal("accepted, want a failure")
	}
	f := push.FailureOf(err)
	if f.Code == "unclassified" {
		t.Fatalf("nobody classified %v", err)
	}
	return f
}

func (h Harness) accepted(t *testing.T) {
	t.Parallel()
	box, sender := h.open(t)
	accepted, err := sender.Send(context.Background(), h.Message)
	if err != nil {
		t.Fatal(err)
	}
	entries := box.Journal().Entries()
	if len(entries) != 1 {
		t.Fatalf("accepted %d times, want once", len(entries))
	}
	if accepted.Provider != h.Provider || accepted.MessageID != entries[0].MessageID || accepted.MessageID == "" {
		t.Errorf("acceptance %+v, want provider %s and message id %s", accepted, h.Provider, entries[0].MessageID)
	}
	if entries[0].Reference != h.Message.Reference {
		t.Errorf("reference %q on the wire, want %q", entries[0].Reference, h.Message.Reference)
	}
}
