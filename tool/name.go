package tool

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func validName(name string) bool { return namePattern.MatchString(name) }

// validate reports why a tool cannot be given to a model.
func (s Spec) validate() error {
	if !validName(s.Name) {
		return &NameError{Name: s.Name}
	}
	switch s.Effect {
	case "", ReadOnly, Idempotent, AtMostOnce:
	default:
		return fmt.Errorf("tool %q: unknown effect %q", s.Name, s.Effect)
	}
	if len(s.Schema) > 0 {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(s.Schema, &object); err != nil {
			return fmt.Errorf("tool %q: the schema is not a JSON object: %w", s.Name, err)
		}
		if err := CheckSchema(s.Schema); err != nil {
			return fmt.Errorf("tool %q: %w", s.Name, err)
		}
	}
	return nil
}

// UnknownToolError says that a reference leads to no tool.
type UnknownToolError struct {
	Ref string
	// Known is what there is, sorted: tools, and "name.*" for sources that were not
	// asked.
	Known []string
	// Nearest is the known reference that is most like Ref; empty if none is.
	Nearest string
}

// Error names the reference, the nearest one, and what there is.
func (e *UnknownToolError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "unknown tool %q", e.Ref)
	if e.Nearest != "" {
		fmt.Fprintf(&b, ": did you mean %q?", e.Nearest)
	}
	known := e.Known
	const shown = 40
	more := ""
	if len(known) > shown {
		known, more = known[:shown], fmt.Sprintf(" and %d more", len(e.Known)-shown)
	}
	if len(known) == 0 {
		b.WriteString(" (there are no tools)")
	} else {
		fmt.Fprintf(&b, " (there is %s%s)", strings.Join(known, ", "), more)
	}
	return b.String()
}

// NameError is a mistake in the configuration of names: a name that models do
// not take, or one name for two tools of one agent.
type NameError struct {
	// Name is the name as the model would see it.
	Name string
	// Refs are the references of the tools that have it: two for a name that is
	// taken twice, one or none for a name that models do not take.
	Refs []string
}

// Error says what is wrong and what to set.
func (e *NameError) Error() string {
	if len(e.Refs) > 1 {
		return fmt.Sprintf("two tools would have the name %q: %s; set a prefix or rename on the MCP server, or leave one out",
			e.Name, strings.Join(e.Refs, " and "))
	}
	of := ""
	if len(e.Refs) == 1 {
		of = " of " + e.Refs[0]
	}
	return fmt.Sprintf("tool name %q%s: models take 1 to 64 of A-Z, a-z, 0-9, _ and -; rename it, for a tool of an MCP server with a prefix or rename on the server",
		e.Name, of)
}

// nearest returns the name with the smallest edit distance to ref, if it is
// small for ref's length.
func nearest(ref string, names []string) string {
	best, bestDistance := "", len(ref)/3+2
	for _, name := range names {
		if d := distance(ref, name); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// distance is the edit distance of two strings in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
