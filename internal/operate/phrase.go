package operate

import (
	"fmt"
	"time"
)

// Phrase is a sentence with what it is about, apart: so that a page can say it in another language, and tell times by
// its reader's clock.
type Phrase struct {
	Text string // English, as fmt has it: %d for numbers, %s for the rest
	Args []any  // int, string, time.Time or Phrase
}

// say makes a phrase.
func say(text string, args ...any) Phrase { return Phrase{Text: text, Args: args} }

// In writes the phrase with its text, and those within it, as translate has them; when writes a time.
func (p Phrase) In(translate func(text string) string, when func(time.Time) string) string {
	args := make([]any, len(p.Args))
	for i, arg := range p.Args {
		switch arg := arg.(type) {
		case time.Time:
			args[i] = when(arg)
		case Phrase:
			args[i] = arg.In(translate, when)
		default:
			args[i] = arg
		}
	}
	return fmt.Sprintf(translate(p.Text), args...)
}

// English writes the phrase for the command line.
func (p Phrase) English(now time.Time) string {
	return p.In(func(text string) string { return text }, func(t time.Time) string { return at(t, now) })
}
