// Package view shows an agent: as JSON for scripts, and as text for people.
package view

import (
	"io"

	"github.com/reagent-dev/reagent/internal/printable"
)

// JSON writes a value as indented JSON and a newline. It escapes all characters that could control a terminal.
func JSON(w io.Writer, v any) error { return printable.Encode(w, v, "  ") }
