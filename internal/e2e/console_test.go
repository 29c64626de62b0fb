package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
	"pusher/internal/testbed/browser"
)

// consoleToken signs in to the console of these tests.
const consoleToken = "the operator's own token"

// TestOperatorSendsTheDeadOnceMoreInABrowser: at three in the morning, on everything that is real: who got it, who did
// not and why is found by a phone; the cause is mended; only what is dead is sent once more, and is seen to arrive.
func TestOperatorSendsTheDeadOnceMoreInABrowser(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 2)
	s.patient()
	s.cfg.HTTP.OperatorToken, s.cfg.Privacy.HashKey = consoleToken, "a key of sixteen characters"
	s.faults(provider.Fault{Provider: provider.Aliyun, Recipient: "13800000042", Kind: provider.Refuse, Code: "isv.BLACK_KEY_CONTROL_LIMIT", Message: "blocked"})
	p, _ := s.run()
	evil := strings.ReplaceAll(event(42, `"actions":["sms"],`), "ACME", `<script>alert('pwned')</script>`)
	s.write(evil, event(43, `"actions":["sms"],`))
	s.settled(1, push.Dead)
	s.settled(1, push.Sent)
	s.pass() // its dead letter

	b := browser.Open(t, "http://"+p.Addr())
	b.Go("/console/")
	b.Type("[name=name]", "Li Wei")
	b.Type("[name=secret]", consoleToken+"\r")
	b.See("the overview", `document.querySelector("#now .t-bad .big")?.textContent === "1"`)
	b.Type("#q", "138 0000 0042\r")
	b.See("the one who did not get it, by phone", `document.querySelectorAll("tr[data-id]").length === 1 || document.querySelector("h1 .s-dead") !== null`)
	browser.Ask[bool](b, `document.querySelector("tr[data-id] [data-open]")?.click() ?? true`)
	b.See("why, and its event as text", `document.querySelector("h1 .s-dead") !== null && document.body.innerText.includes("isv.BLACK_KEY_CONTROL_LIMIT") &&
		document.querySelector("pre.event").innerText.includes("<script>alert('pwned')</script>")`)

	s.faults() // the provider has let the number in again
	b.Click(`.acts button[value="requeue"]`)
	b.See("the dry run", `document.querySelector("#count-would_send dd")?.textContent === "1"`)
	s.accepted(1)
	b.Type("#confirm [name=reason]", "number let in again\r")
	b.See("what was done", `document.querySelector("#changed")?.textContent === "1"`)
	b.Click("#onward")
	b.See("it arrive", `document.querySelector("#live h1 .s-sent") !== null && document.querySelector(".k-act").innerText.includes("number let in again")`)
	s.accepted(2)
	if n := s.number(`SELECT count(*) FROM operator_action WHERE actor = 'Li Wei' AND role = 'operator' AND changed = 1`); n != 1 {
		t.Errorf("%d acts are in the audit", n)
	}
	b.Clean()
}

// TestConsoleIsOffWithoutToken: there is no such page, and the log says how to switch it on.
func TestConsoleIsOffWithoutToken(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	var log testbed.Log
	p, _ := s.runAs(s.cfg, zerolog.New(&log))
	s.eventually("the door is open", func() bool {
		got, err := http.Get("http://" + p.Addr() + "/console/")
		if err != nil {
			return false
		}
		defer func() { _ = got.Body.Close() }()
		return got.StatusCode == http.StatusNotFound
	})
	http.DefaultClient.CloseIdleConnections()
	if !strings.Contains(log.String(), "the console is off: set http.operator_token") {
		t.Errorf("the log does not say how to switch it on: %s", log.String())
	}
}
