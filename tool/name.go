package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString

var otherCharacter = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// ModelName returns a name for a tool that models accept. A name that models accept stays as it is, even if it is taken. In any other name,
// each character that models do not accept becomes _. If the result is empty, too long or already taken, its end is replaced by a hash of
// the name. So with the same names taken, a name always gets the same result.
func ModelName(name string, taken func(string) bool) string {
	if validName(name) {
		return name
	}
	const longest, digits = 64, 6
	mapped := otherCharacter.ReplaceAllString(name, "_")
	if validName(mapped) && !taken(mapped) {
		return mapped
	}
	sum := sha256.Sum256([]byte(name))
	return mapped[:min(len(mapped), longest-digits-1)] + "_" + hex.EncodeToString(sum[:])[:digits]
}

// validate returns an error if a tool with this description cannot be offered to a model. If models do not accept the name, the
// error is a [*NameError]. If [CheckSchema] refuses the schema, the error wraps a [*SchemaError]. For an unknown effect, a wrong
// result timeout, or a schema that is not a JSON object, the error has another type.
func (s Spec) validate() error {
	if !validName(s.Name) {
		return &NameError{Name: s.Name}
	}
	switch s.Effect {
	case "", ReadOnly, Idempotent, AtMostOnce, External:
	default:
		return fmt.Errorf("tool %q: unknown effect %q; use read-only, idempotent, at-most-once or external", s.Name, s.Effect)
	}
	if s.ResultTimeout != 0 && (s.Effect != External || s.ResultTimeout < time.Millisecond) {
		return fmt.Errorf("tool %q: the result timeout is %v and the effect is %q; set a result timeout only with the effect external, and to at least 1ms", s.Name, s.ResultTimeout, s.Effect)
	}
	if len(s.Schema) > 0 {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(s.Schema, &object); err != nil {
			return fmt.Errorf("tool %q: the schema is not a JSON object: %w; set a JSON schema such as {\"type\": \"object\"}", s.Name, err)
		}
		if err := CheckSchema(s.Schema); err != nil {
			return fmt.Errorf("tool %q: %w", s.Name, err)
		}
	}
	return nil
}

// UnknownToolError means that a [Registry] has no tool with a given reference.
type UnknownToolError struct {
	// Ref is the reference that was looked up.
	Ref string
	// Known has the references that the registry knows, sorted. A tool is listed with its name, and a source with "name.*". If
	// `Ref` names a tool of a known source, Known also has all tools of this source. For example, "files.read" names a tool of
	// the source "files".
	Known []string
	// Nearest is the element of `Known` that is most similar to `Ref`. It is empty if no element is similar.
	Nearest string
}

// Error returns a text with the unknown reference, the most similar reference, and up to 40 known references.
func (e *UnknownToolError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "unknown tool %q", e.Ref)
	if e.Nearest != "" {
		fmt.Fprintf(&b, ": did you mean %q?", e.Nearest)
	}
	const shown = 40
	known, more := e.Known, ""
	if len(known) > shown {
		known, more = known[:shown], fmt.Sprintf(" and %d more", len(e.Known)-shown)
	}
	if len(known) == 0 {
		b.WriteString(" (there are no tools)")
	} else {
		fmt.Fprintf(&b, " (the known tools are %s%s)", strings.Join(known, ", "), more)
	}
	return b.String()
}

// NameError means that a tool cannot be offered to a model because of its name. Either model endpoints do not accept the name,
// or two tools of one agent have the same name or names that look alike: see [LookAlike]. The user has to correct the configuration.
type NameError struct {
	// Name is the name that the model would see.
	Name string
	// Other is the name of the second tool if the two names only look alike; "" if they are equal or there is only one.
	Other string
	// Refs has the references of the tools with these names: one if endpoints do not accept the name, two if the names of two tools
	// are equal or look alike. Refs is empty if the tool was not found through a [Registry].
	Refs []string
}

// Error returns a text that says what is wrong and what to change.
func (e *NameError) Error() string {
	if e.Other != "" {
		return fmt.Sprintf("the names of the tools %s look alike, %q and %q: set prefix or rename of the MCP server, or remove one of the tools",
			strings.Join(e.Refs, " and "), e.Name, e.Other)
	}
	if len(e.Refs) > 1 {
		return fmt.Sprintf("two tools would have the name %q: %s; set prefix or rename of the MCP server, or remove one of the tools",
			e.Name, strings.Join(e.Refs, " and "))
	}
	of := ""
	if len(e.Refs) == 1 {
		of = " of " + e.Refs[0]
	}
	return fmt.Sprintf("tool name %q%s is not valid: use 1 to 64 of the characters A-Z, a-z, 0-9, _ and -; for a tool of an MCP server, set prefix or rename of the server",
		e.Name, of)
}

// nearest returns "" if no element is similar. An element is similar if its edit distance is at most len(ref)/3 + 1.
func nearest(ref string, names []string) string {
	best, bestDistance := "", len(ref)/3+2
	for _, name := range names {
		if d := distance(ref, name); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

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
