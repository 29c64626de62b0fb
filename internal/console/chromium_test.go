package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/testbed/browser"
)

// signInHere signs a reader in.
func signInHere(b *browser.Tab, token string) {
	b.Go("/console/")
	b.Type("[name=name]", "Li Wei")
	b.Type("[name=secret]", token+"\r")
	b.See("the overview", `document.querySelector("#now") !== null`)
	awake(b)
}

// awake waits until a page has its script and its stream: before that it hears no key.
func awake(b *browser.Tab) {
	b.See("that it is live", `document.readyState === "complete" && document.querySelector("#pulse").dataset.state === "live"`)
}

func TestOperatorFindsRequeuesAndSeesItArrive(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	b := browser.Open(t, h.URL)
	signInHere(b, operatorToken)

	b.Press("/")
	b.See("the search in focus", `document.activeElement.id === "q"`)
	browser.Ask[string](b, `document.activeElement.value = ""`) // the driver types the key although the page took it
	b.Type("#q", "10247\r")
	b.See("the delivery", `document.querySelector("#live h1 .s-dead") !== null`)
	b.Click(`.acts button[value="requeue"]`)
	b.See("the dry run", `document.querySelector("#count-would_send dd")?.textContent === "1"`)
	if h.memory.get(deadOne).Status != push.Dead {
		t.Fatal("a dry run changed the delivery")
	}
	b.Click("#go") // without a reason the browser itself refuses
	b.See("still the dry run", `document.querySelector("#confirm [name=reason]:invalid") !== null`)
	b.Type("#confirm [name=reason]", "template approved\r")
	b.See("what was done", `document.querySelector("#changed")?.textContent === "1"`)
	b.Click("#onward")
	awake(b)
	b.See("that it is queued, by whom and why", `document.querySelector("#live h1 .s-queued") !== null &&
		document.querySelector(".k-act").innerText.includes("Li Wei") && document.querySelector(".k-act").innerText.includes("template approved")`)

	h.memory.change(deadOne, func(e *push.Entry) { e.Status, e.SentAt = push.Sent, time.Now() }) // a pusher sends it
	b.See("it arrive without a reload", `document.querySelector("#live h1 .s-sent") !== null`)
	b.Clean()
}

func TestListIsLiveAndFollowsTheKeys(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	b := browser.Open(t, h.URL)
	signInHere(b, viewerToken)
	b.Press("d")
	b.See("the list", `document.querySelectorAll("#live tr[data-id]").length === 50`)
	awake(b)
	b.Press("j")
	b.Press("j")
	b.See("the second row marked", `document.querySelector("tr.at")?.dataset.id === "10247"`)
	newest := entry(10300, push.Notify, push.Sent)
	h.memory.put(newest)
	b.See("a new delivery on top, and the mark where it was", `document.querySelector("#live tr[data-id]").dataset.id === "10300" &&
		document.querySelector("tr.at")?.dataset.id === "10247"`)
	b.Press("k")
	b.Press("\r")
	b.See("the delivery above it", `location.pathname === "/console/deliveries/10248"`)
	awake(b)
	b.Press("u")
	b.See("the list again", `location.pathname === "/console/deliveries"`)
	awake(b)
	b.Click(".chip.s-unknown")
	b.See("only what is unknown, and an address that says so", `document.querySelectorAll("#live tr[data-id]").length === 1 &&
		location.search.includes("status=unknown")`)
	b.Press("?")
	b.See("the keys", `document.querySelector("#keys").open`)
	b.Clean()
}

func TestListThatFindsNothingAtOnceLooksFurtherByItself(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	h.memory.blind = 10200
	b := browser.Open(t, h.URL)
	signInHere(b, viewerToken)
	b.Go("/console/deliveries?status=sent")
	b.See("older ones", `Number(document.querySelector("#live tr[data-id]")?.dataset.id) < 10200`)
	b.Clean()
}

func TestHostileTextDoesNothingInABrowser(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	b := browser.Open(t, h.URL)
	signInHere(b, operatorToken)
	for _, path := range []string{"/console/deliveries", "/console/deliveries/10246"} {
		b.Go(path)
		b.See("the text", `document.body.innerText.includes("<script>document.title='pwned'</script>")`)
		awake(b)
		h.memory.change(hostileOne, func(*push.Entry) {}) // it comes once more, by htmx
		b.See("nothing of it run", `document.title.endsWith("pusher") && !document.title.includes("pwned") || document.title.includes("<script>")`)
	}
	b.See("its event as text", `document.querySelector("pre.event").innerText.includes("onerror=")`)
	if n := browser.Ask[int](b, `document.querySelectorAll("main img, main script, main b b").length`); n != 0 {
		t.Errorf("%d elements of its markup are in the page", n)
	}
	b.Clean()
}

// TestEveryPageIsCleanInEveryLook visits the pages in light, dark, Chinese and on a phone. With CONSOLE_PICTURES it keeps
// the pictures of docs/console there.
func TestEveryPageIsCleanInEveryLook(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	delete(h.memory.entries, hostileOne) // no sight for a README
	b := browser.Open(t, h.URL)
	b.Go("/console/")
	picture(t, b, "signin")
	signInHere(b, operatorToken)
	visit := func(path, name string) {
		t.Helper()
		b.Go(path)
		awake(b)
		if wide := browser.Ask[int](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
			t.Errorf("%s (%s) is %d pixels too wide", path, name, wide)
		}
		if cut := browser.Ask[[]string](b, cutOff); len(cut) > 0 {
			t.Errorf("%s (%s) cuts off: %s", path, name, strings.Join(cut, "; "))
		}
		picture(t, b, name)
	}
	visit("/console/", "overview")
	visit("/console/?range=7d", "overview-week")
	visit("/console/deliveries", "list")
	visit("/console/deliveries?status=unknown&status=dead", "")
	visit("/console/deliveries/10248", "delivery")
	b.Click(`.acts button[value="resolve-not-sent"]`)
	b.See("the dry run", `document.querySelector("#confirm") !== null`)
	picture(t, b, "plan")
	visit("/console/prefer?theme=dark&back=/console/", "overview-dark")
	visit("/console/deliveries/10248", "delivery-dark")
	visit("/console/prefer?lang=zh&back=/console/deliveries/10248", "delivery-zh")
	visit("/console/prefer?lang=zh&back=/console/", "")
	visit("/console/prefer?lang=en&back=/console/actions", "")
	b.Phone()
	visit("/console/prefer?theme=light&back=/console/", "overview-phone")
	visit("/console/deliveries", "list-phone")
	visit("/console/deliveries/10248", "delivery-phone")
	b.Clean()
}

// cutOff lists the boxes of a page that hide a part of what they hold and cannot be scrolled, and texts that leave the window.
const cutOff = `(() => {
	const cut = [...document.querySelectorAll("main .card, main .bar, main .fields label, main td, main th")]
		.filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "auto");
	const out = [...document.querySelectorAll("main svg text")].filter((e) => e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0);
	return [...cut, ...out].map((e) => e.tagName + "." + (e.className.baseVal ?? e.className) + " " + e.textContent.trim().slice(0, 30));
})()`

// picture keeps the window as a picture where CONSOLE_PICTURES names a folder.
func picture(t *testing.T, b *browser.Tab, name string) {
	t.Helper()
	folder := os.Getenv("CONSOLE_PICTURES")
	if folder == "" || name == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), b.Picture(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTextCanBeReadInEveryLook measures the contrast of every piece of text with what is behind it (WCAG AA: 4.5).
func TestTextCanBeReadInEveryLook(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	b := browser.Open(t, h.URL)
	signInHere(b, operatorToken)
	for _, theme := range []string{"light", "dark"} {
		for _, path := range []string{"/console/", "/console/deliveries", "/console/deliveries/10248"} {
			b.Go("/console/prefer?theme=" + theme + "&back=" + path)
			if weak := browser.Ask[[]string](b, contrast); len(weak) > 0 {
				t.Errorf("%s, %s: %s", path, theme, strings.Join(weak, "; "))
			}
		}
	}
}

// contrast lists the texts of a page that are too faint.
const contrast = `(() => {
	const parse = (c) => { const n = c.match(/[\d.]+/g).map(Number); return n.length === 3 ? [...n, 1] : n; };
	const light = ([r, g, b]) => [r, g, b].map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; })
		.reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
	const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
	const weak = new Set();
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const e = texts.currentNode.parentElement;
		if (!texts.currentNode.textContent.trim() || !e.checkVisibility() || e.closest("svg, .sr, .skip, option")) continue;
		const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) weak.add(e.tagName + "." + e.className + " " + ratio.toFixed(2) + " " + texts.currentNode.textContent.trim().slice(0, 20));
	}
	return [...weak];
})()`
