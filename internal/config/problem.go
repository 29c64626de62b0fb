package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in the configuration.
type Problem struct {
	Key    string // dotted, such as worker.in_flight; empty when it is about the whole file
	Source string // the file's path, or the PUSHER_* variable that said it; empty when nothing did
	Line   int    // in the file, from 1; 0 when no line said it
	Text   string // what is wrong and how to mend it
}

// String puts place, key and text on one line.
func (p Problem) String() string {
	var parts []string
	switch {
	case p.Source != "" && p.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d", p.Source, p.Line))
	case p.Source != "":
		parts = append(parts, p.Source)
	}
	if p.Key != "" {
		parts = append(parts, p.Key)
	}
	return strings.Join(append(parts, strings.ReplaceAll(p.Text, "\n", " ")), ": ")
}

// Error is everything that is wrong with a configuration, in the file's order.
type Error struct{ Problems []Problem }

// Error puts each problem on a line of its own, headed by "config: ".
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = "config: " + p.String()
	}
	return strings.Join(lines, "\n")
}

// Warning is something in the environment that was ignored; it may be logged.
type Warning string

// place is where a key was said.
type place struct {
	source string
	line   int
}

// places maps each key that was said to where; its "" is the file itself.
type places map[string]place

// of finds where a key was said, or where its nearest section was.
func (p places) of(key string) place {
	for {
		if at, ok := p[key]; ok {
			return at
		}
		cut := strings.LastIndexByte(key, '.')
		if cut < 0 {
			return p[""]
		}
		key = key[:cut]
	}
}

// problem makes a problem at the key's place.
func (p places) problem(key, format string, args ...any) Problem {
	at := p.of(key)
	return Problem{Key: key, Source: at.source, Line: at.line, Text: fmt.Sprintf(format, args...)}
}

// asError sorts the problems by line and wraps them; nil for none.
func asError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	return &Error{Problems: problems}
}
