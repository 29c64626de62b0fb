package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
)

//go:embed pages/*.html
var pageFiles embed.FS

// pages are the templates by name, each within the layout.
type pages map[string]*template.Template

// shown is what a template sees: the reader's visit, and the page's own data as D.
type shown struct {
	*visit

	Here string // the page's name: which entry of the menu is lit
	D    any
}

func newPages() (pages, error) {
	all := pages{}
	for _, name := range []string{"signin", "error", "overview", "deliveries", "delivery", "search", "plan", "applied", "actions"} {
		t, err := template.New("layout.html").Option("missingkey=error").
			ParseFS(pageFiles, "pages/layout.html", "pages/parts.html", "pages/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("reading the page %s: %w", name, err)
		}
		all[name] = t
	}
	return all, nil
}

// render writes a whole page, or nothing and an error.
func (c *Console) render(w http.ResponseWriter, code int, name string, v *visit, data any) error {
	var text bytes.Buffer
	if err := c.pages[name].Execute(&text, shown{visit: v, Here: name, D: data}); err != nil {
		return fmt.Errorf("writing the page %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", v.Code)
	w.WriteHeader(code)
	_, _ = w.Write(text.Bytes()) // the reader is gone
	return nil
}
