package channeltest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pusher/internal/push"
)

// document reads the facts about the providers, from a sender's package: wechat's is one folder nearer.
func document() string {
	for _, path := range []string{"../../../docs/providers.md", "../../../../docs/providers.md"} {
		if text, err := os.ReadFile(path); err == nil {
			return string(text)
		}
	}
	return ""
}

// Documented is one code of docs/providers.md.
type Documented struct {
	Code    string // a family ends in "*"
	Words   string // the document's own word for its class
	Classes []push.Class
	Scope   push.Scope // what the document says of the scope; empty when it says nothing
}

// Concrete is a code of the family, or the code itself.
func (d Documented) Concrete() string {
	family, isFamily := strings.CutSuffix(d.Code, "*")
	if !isFamily {
		return d.Code
	}
	return strings.TrimSuffix(family, ".") + ".NobodyNamedThis"
}

var (
	classHeading = regexp.MustCompile(`(?m)^### .*→ class.*$`)
	codeWord     = regexp.MustCompile("`(\\.?[A-Za-z][A-Za-z0-9_.]*\\*?)`")
	number       = regexp.MustCompile(`-1|\b[0-9]{5}\b|\b0\b`)
	// members follows a family: what it leaves out, and some of those it takes in.
	members = regexp.MustCompile("`([A-Za-z]+)\\.\\*`(?: except [A-Za-z]+)?(?: \\(([^)]*)\\))?")
)

// ReadDocumented reads the table of codes in the section of docs/providers.md with this number.
func ReadDocumented(t *testing.T, section string) []Documented {
	t.Helper()
	_, rest, found := strings.Cut(document(), "\n## "+section+". ")
	heading := classHeading.FindStringIndex(rest)
	if !found || heading == nil {
		t.Fatalf("docs/providers.md has no table of codes in section %s", section)
	}
	table, _, _ := strings.Cut(rest[heading[1]:], "\n###")
	var list []Documented
	for line := range strings.Lines(table) {
		cells := strings.SplitN(strings.Trim(strings.TrimSpace(line), "|"), "|", 2)
		if len(cells) != 2 || strings.Contains(cells[0], "---") || strings.TrimSpace(cells[0]) == "class" {
			continue
		}
		words := strings.TrimSpace(cells[0])
		for _, code := range codesIn(cells[1]) {
			list = append(list, Documented{Code: code, Words: words, Classes: classesOf(words), Scope: scopeOf(words)})
		}
	}
	return list
}

// codesIn finds the codes of one row. A name that begins with a dot continues the code before it.
func codesIn(cell string) []string {
	var codes []string
	add := func(code string) {
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	var family string
	for _, word := range codeWord.FindAllStringSubmatch(cell, -1) {
		code := word[1]
		if strings.HasPrefix(code, ".") {
			code = family + code
		}
		family, _, _ = strings.Cut(code, ".")
		add(code)
	}
	for _, m := range members.FindAllStringSubmatch(cell, -1) {
		for name := range strings.SplitSeq(m[2], ", ") {
			if name = strings.Trim(name, "… "); name != "" {
				add(m[1] + "." + name)
			}
		}
	}
	if len(codes) == 0 {
		for _, code := range number.FindAllString(cell, -1) {
			add(code)
		}
	}
	return codes
}

// classesOf reads the document's words for a class; some leave two open.
func classesOf(words string) []push.Class {
	var classes []push.Class
	for word, class := range map[string]push.Class{
		"ok": push.Accepted, "duplicate": push.Accepted, "retryable": push.NotSent, "retry_later": push.Throttled,
		"permanent": push.Permanent, "account_stop": push.Account, "ambiguous": push.Ambiguous,
		"token_refresh": push.Account, "fix the clock": push.Account, // once the sender's own try at it has failed
		"sign again": push.NotSent,
	} {
		if strings.Contains(words, word) {
			classes = append(classes, class)
		}
	}
	if strings.Contains(words, "sign again") {
		classes = append(classes, push.Account) // a clock that is off stays off
	}
	return classes
}

func scopeOf(words string) push.Scope {
	for _, scope := range []push.Scope{push.ScopeRecipient, push.ScopeTemplate, push.ScopeChannel} {
		if strings.Contains(words, string(scope)) {
			return scope
		}
	}
	if strings.Contains(words, "(account)") || strings.Contains(words, "scope: account") {
		return push.ScopeAccount
	}
	return push.ScopeMessage
}

// CheckDocumented holds a failure to what the document says of its code. Beside the table, the document's remarks
// name some codes' classes; except has those.
func CheckDocumented(t *testing.T, d Documented, f *push.Failure, except map[string]push.Class) {
	t.Helper()
	classes := d.Classes
	if class, remarked := except[d.Code]; remarked {
		classes = []push.Class{class}
	}
	if f.Code != d.Concrete() || !slices.Contains(classes, f.Class) || d.Scope != "" && f.Scope != d.Scope {
		t.Errorf("%s is %s, scope %q, code %q; docs/providers.md says %q", d.Code, f.Class, f.Scope, f.Code, d.Words)
	}
	if (f.Class == push.Throttled || f.Class == push.Account) && f.Wait <= 0 {
		t.Errorf("%s has no wait", d.Code)
	}
	if (f.Class == push.Throttled || f.Class == push.Account) && (f.Scope == push.ScopeMessage || f.Class.UsesRetry()) {
		t.Errorf("%s: scope %q; a limit or stop concerns more than this message, and uses no retry", d.Code, f.Scope)
	}
}
