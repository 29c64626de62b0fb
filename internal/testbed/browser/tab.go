package browser

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Patience bounds each step: a busy machine starts Chromium slowly.
const Patience = 90 * time.Second

// The sizes of a window.
const (
	width, height           = 1280, 800
	phoneWidth, phoneHeight = 390, 844
)

// policyAlarm tells of what a Content-Security-Policy stops, where the listener of troubles hears it.
const policyAlarm = `document.addEventListener("securitypolicyviolation",
	(e) => console.error("policy:", e.violatedDirective, e.blockedURI, e.sample))`

// Tab is a page in a browser of its own, which ends with the test.
type Tab struct {
	t        testing.TB
	ctx      context.Context // of the browser's life
	base     string
	troubles troubles
}

// find is the path of a browser. Where there is none the test is skipped, but in CI, which installs one, it fails.
func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no Chromium, which .ci/run installs")
	}
	t.Skip("no Chromium on this machine: the pages are not tested in a browser (Debian: apt-get install chromium)")
	return ""
}

// Open starts a browser for a test of the pages at base, such as http://127.0.0.1:8080. Its reader speaks English and
// lives in Shanghai.
func Open(t testing.TB, base string) *Tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(find(t)), chromedp.NoSandbox,
		chromedp.Flag("lang", "en-US"), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.UserDataDir(t.TempDir()))
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	b := &Tab{t: t, base: base, troubles: troubles{base: base}}
	ctx, done := chromedp.NewContext(allocated, chromedp.WithListener(b.troubles.listen))
	t.Cleanup(done)
	b.ctx = ctx
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height)); err != nil { // it lives as long as this context
		t.Fatalf("starting Chromium: %v", err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	call(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": "en"}})
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Shanghai"})
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: policyAlarm})
	return b
}

// call has the browser do something in the time of a step.
func call[P, R any](b *Tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
}

// do does one step in its time.
func (b *Tab) do(what string, step chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, step); err != nil {
		b.t.Fatalf("%s: %v\n%v", what, err, b.troubles.all())
	}
}

// Go loads a page by its path.
func (b *Tab) Go(path string) {
	b.t.Helper()
	b.do("going to "+path, chromedp.Navigate(b.base+path))
}

// Click clicks the first element of a CSS selector, once it is there.
func (b *Tab) Click(selector string) {
	b.t.Helper()
	b.do("clicking "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// Type types into the first element of a CSS selector; "\r" is Enter.
func (b *Tab) Type(selector, text string) {
	b.t.Helper()
	b.do("typing into "+selector, chromedp.SendKeys(chromedp.CSS(selector), text, chromedp.NodeVisible))
}

// Press presses keys wherever the focus is.
func (b *Tab) Press(keys string) {
	b.t.Helper()
	b.do("pressing "+keys, chromedp.KeyEvent(keys))
}

// Phone makes the window a phone's.
func (b *Tab) Phone() {
	b.t.Helper()
	b.do("becoming a phone", chromedp.EmulateViewport(phoneWidth, phoneHeight, chromedp.EmulateMobile))
}

// See waits until a JavaScript expression is true in the page, also across pages.
func (b *Tab) See(what, expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(Patience); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(b.ctx, Patience)
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		cancel()
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("waiting for %s (%s): %v\n%s", what, expression, err, Ask[string](b, "document.body.innerText"))
		}
	}
}

// Ask evaluates a JavaScript expression in the page.
func Ask[T any](b *Tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	answer, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("asking %s: %v", expression, err)
	}
	return answer
}

// Picture is the window as a PNG.
func (b *Tab) Picture() []byte {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatalf("taking a picture: %v", err)
	}
	return picture
}

// Clean fails the test for everything that the browser complained about.
func (b *Tab) Clean() {
	b.t.Helper()
	for _, trouble := range b.troubles.all() {
		b.t.Error(trouble)
	}
}
