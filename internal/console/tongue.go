package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"

	"golang.org/x/text/language"
)

//go:embed words/en.json words/zh.json
var wordFiles embed.FS

// tongue is a language of the pages: every text of theirs by its name.
type tongue struct {
	Code  string // as in html lang
	words map[string]string
}

// tongues are the languages, the first for who speaks none of them.
type tongues struct {
	list  []tongue
	match language.Matcher
}

func newTongues() (tongues, error) {
	var t tongues
	var tags []language.Tag
	for _, code := range []string{"en", "zh"} {
		text, err := wordFiles.ReadFile("words/" + code + ".json")
		if err != nil {
			return t, fmt.Errorf("reading the words of %s: %w", code, err)
		}
		one := tongue{Code: code}
		if err := json.Unmarshal(text, &one.words); err != nil {
			return t, fmt.Errorf("reading the words of %s: %w", code, err)
		}
		t.list, tags = append(t.list, one), append(tags, language.Make(code))
	}
	t.match = language.NewMatcher(tags)
	return t, nil
}

// of is the language that r asks for: by the reader's own choice, else by the browser's.
func (t tongues) of(r *http.Request) tongue {
	asked := []string{r.Header.Get("Accept-Language")}
	if chosen, err := r.Cookie(cookieLang); err == nil {
		asked = []string{chosen.Value}
	}
	_, i := language.MatchStrings(t.match, asked...)
	return t.list[i]
}

// say is the text of that name, with args at its %[1]v, %[2]v. A name without text shows itself; a test finds it.
func (t tongue) say(name string, args ...any) string {
	text, ok := t.words[name]
	if !ok {
		return name
	}
	if len(args) > 0 {
		return fmt.Sprintf(text, args...)
	}
	return text
}

// has reports whether there is such a text.
func (t tongue) has(name string) bool {
	_, ok := t.words[name]
	return ok
}
