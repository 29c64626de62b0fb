package browser

import (
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// troubles are what a browser says is wrong with a page.
type troubles struct {
	base string // where requests may go

	mu   sync.Mutex
	list []string // guarded by mu
}

// listen hears every event of the browser; it must be quick.
func (t *troubles) listen(event any) {
	if trouble := t.of(event); trouble != "" {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.list = append(t.list, trouble)
	}
}

// of is what is wrong with an event; empty when nothing is.
func (t *troubles) of(event any) string {
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			return "log: " + e.Entry.Text
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var words []string
			for _, arg := range e.Args {
				words = append(words, string(arg.Value))
			}
			return "console: " + strings.Join(words, " ")
		}
	case *runtime.EventExceptionThrown:
		if e.ExceptionDetails.Exception != nil {
			return "exception: " + e.ExceptionDetails.Exception.Description
		}
		return "exception: " + e.ExceptionDetails.Text
	case *page.EventJavascriptDialogOpening:
		return "dialog: " + e.Message
	case *network.EventRequestWillBeSent: // a data: URL is the browser's own, for its widgets
		if !strings.HasPrefix(e.Request.URL, t.base+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			return "a request leaves the host: " + e.Request.URL
		}
	}
	return ""
}

func (t *troubles) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.list)
}
