package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pusher/internal/assemble"
	"pusher/internal/config"
)

// checkTexts writes every message of every push with the push's sample, as its provider would get it.
func checkTexts(_ context.Context, c *config.Config, r *report) {
	previews, err := assemble.NewPreviews(c)
	if err != nil {
		r.add(finding{what: "templates", err: err})
		return
	}
	defer previews.Close()
	for _, name := range slices.Sorted(maps.Keys(c.Pushes)) {
		r.add(pushFinding(name, previews.Sample(name), previews.Params(name)))
	}
}

// pushFinding judges the messages of one push; without a sample it says which params one must have.
func pushFinding(name string, list []assemble.Preview, params []string) finding {
	f := finding{what: "templates of " + name}
	if len(list) == 0 {
		f.says = "not tried, no sample"
		if len(params) > 0 {
			f.says += "; their params are " + strings.Join(params, ", ") + ": give them values in pushes." + name + ".sample"
		}
		return f
	}
	var good, bad []string
	for _, one := range list {
		if one.Refused != nil {
			bad = append(bad, fmt.Sprintf("%s: %s: %s", one.Provider, one.Refused.Code, one.Refused.Message))
		} else {
			good = append(good, one.Provider)
		}
	}
	f.says = "the sample fits " + strings.Join(good, ", ")
	if len(bad) > 0 {
		f.err = fmt.Errorf("the sample does not fit: %s", strings.Join(bad, "; "))
		f.mend = "change the text or pushes." + name + ".sample"
	}
	return f
}
