// Package view shows an agent: as JSON for scripts, and as text for people.
package view

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/reagent-dev/reagent/internal/printable"
)

// JSON writes a value as indented JSON and a newline. It escapes all characters that could control a terminal.
func JSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// JSONLine is [JSON] without indentation: it writes one line.
func JSONLine(w io.Writer, v any) error { return encodeJSON(w, v, "") }

// encodeJSON puts the JSON on one line if indent is empty.
func encodeJSON(w io.Writer, v any, indent string) error {
	var encoded bytes.Buffer
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(printable.JSON(encoded.Bytes()))
	return err
}
