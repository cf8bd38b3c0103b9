// Package object has everything that the programs starter and worker print with --json. Each value is one object on one line, and its field
// "type" says which. All objects share one vocabulary: a name means the same in all of them. docs/json.md has the names with their meanings,
// and a test holds both together. Fields may be added in any version; they are renamed or removed only in a minor version.
package object

import (
	"bytes"
	"fmt"
	"io"

	"github.com/reagent-dev/reagent/internal/printable"
)

// Object is a value that a command prints with --json. Only the types of this package are objects, so no command prints anything else.
type Object interface {
	// kind is the value of the field "type".
	kind() string
}

// Print writes an object on one line. It escapes all characters that could control a terminal.
func Print(w io.Writer, o Object) error {
	var b bytes.Buffer
	if err := printable.Encode(&b, o, ""); err != nil {
		return fmt.Errorf("print an object of the type %s: %w", o.kind(), err)
	}
	// The type comes first, so that a person finds it. The rest is an object with at least one field.
	_, err := fmt.Fprintf(w, `{"type":%q,%s`, o.kind(), b.Bytes()[1:])
	return err
}

// PrintAll writes each of the objects on a line of its own.
func PrintAll[O Object](w io.Writer, all []O) error {
	for _, o := range all {
		if err := Print(w, o); err != nil {
			return err
		}
	}
	return nil
}
