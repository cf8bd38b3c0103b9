package page

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/internal/printable"
)

//go:embed page.html
var templateText string

var templates = template.Must(template.New("").Parse(templateText))

// layout is what all pages have.
type layout struct {
	Page, Title, Status string
	Style, Script       string
	Caller              Caller
	Who, SignOut        string
	Data                any
}

// render writes a page.
func (h *handler) render(w http.ResponseWriter, r *http.Request, code int, page, title string, data any) {
	l := layout{Page: page, Title: title, Style: styleName, Script: scriptName, Caller: h.caller(r), SignOut: h.SignOut, Data: data}
	l.Who = printable.Name(l.Caller.Name)
	if l.Caller.ProvedBy != "" {
		l.Who += " (" + printable.Name(l.Caller.ProvedBy) + ")"
	}
	if c, ok := data.(conversationPage); ok {
		l.Status = c.Status.Status
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "page", l); err != nil {
		h.Log.ErrorContext(r.Context(), "A page cannot be made.", "page", page, "problem", err.Error())
		http.Error(w, "The page cannot be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes())
}

// fragment returns a part of a page, without line breaks at its ends.
func fragment(name string, data any) (string, error) {
	var b strings.Builder
	err := templates.ExecuteTemplate(&b, name, data)
	return strings.TrimSpace(b.String()), err
}
