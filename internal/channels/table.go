package channels

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pusher/internal/push"
)

// Table says what a provider's codes mean. It is data: each sender keeps its own in codes.txt.
type Table struct {
	rows     map[string]row
	families []family
}

type row struct {
	class push.Class
	scope push.Scope
	wait  wait
}

type family struct {
	prefix string
	row    row
}

// ReadTable reads lines of "code class [scope [wait]]", where "-" is an empty scope; "#" begins a comment. A code that ends in
// ".*" names the family of codes with that prefix, for codes that no line of their own has. Waits are durations or the
// words of parseWait.
func ReadTable(text string) (*Table, error) {
	t := &Table{rows: map[string]row{}}
	lines := bufio.NewScanner(strings.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if err := t.add(fields); err != nil {
			return nil, fmt.Errorf("reading the codes, line %d: %w", number, err)
		}
	}
	return t, nil
}

func (t *Table) add(fields []string) error {
	if len(fields) < 2 || len(fields) > 4 {
		return fmt.Errorf("%d fields, not 2 to 4", len(fields))
	}
	r, err := parseRow(fields[1:])
	if err != nil {
		return err
	}
	code := fields[0]
	if _, twice := t.rows[code]; twice {
		return fmt.Errorf("code %s is there twice", code)
	}
	if prefix, isFamily := strings.CutSuffix(code, "*"); isFamily {
		t.families = append(t.families, family{prefix, r})
		return nil
	}
	t.rows[code] = r
	return nil
}

func parseRow(fields []string) (row, error) {
	var r row
	var known bool
	if r.class, known = parseClass(fields[0]); !known {
		return r, fmt.Errorf("class %q is unknown", fields[0])
	}
	if len(fields) > 1 && fields[1] != "-" {
		switch r.scope = push.Scope(fields[1]); r.scope {
		case push.ScopeRecipient, push.ScopeTemplate, push.ScopeChannel, push.ScopeAccount:
		default:
			return r, fmt.Errorf("scope %q is unknown", fields[1])
		}
	}
	if len(fields) > 2 {
		var err error
		if r.wait, err = parseWait(fields[2]); err != nil {
			return r, err
		}
	}
	return r, nil
}

func parseClass(name string) (push.Class, bool) {
	for _, c := range []push.Class{
		push.Accepted, push.NotSent, push.Throttled, push.Permanent, push.Account, push.Ambiguous,
	} {
		if c.String() == name {
			return c, true
		}
	}
	return push.Ambiguous, false
}

// Codes lists the codes of the table, sorted; a family is not among them.
func (t *Table) Codes() []string { return slices.Sorted(maps.Keys(t.rows)) }

// Failure is a refusal with this code and words, as the table reads it: by the full code, else by its family. An
// unknown code may pass: not sent, with the code kept.
func (t *Table) Failure(code, message string, now time.Time) *push.Failure {
	r, known := t.rows[code]
	if !known {
		r = t.family(code)
	}
	return &push.Failure{Class: r.class, Scope: r.scope, Code: code, Message: message, Wait: r.wait.from(now, message)}
}

func (t *Table) family(code string) row {
	best := family{row: row{class: push.NotSent}}
	for _, f := range t.families {
		if strings.HasPrefix(code, f.prefix) && len(f.prefix) > len(best.prefix) {
			best = f
		}
	}
	return best.row
}
