package proposal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
)

// commands are the tools that run a command, with the field that has it. A tool with another name may have a field "command" that is none,
// such as "view".
var commands = map[string]string{"shell": "command", "bash": "command"}

// edits are the pairs of fields with which tools replace a text by another one.
var edits = [][2]string{{"old", "new"}, {"old_string", "new_string"}, {"old_str", "new_str"}, {"oldText", "newText"}}

// maxDepth is the depth of nested values to which texts of several lines are shown as such.
const maxDepth = 5

// Of returns the form of the arguments with which a tool is called. Arguments that are no JSON object are shown as they are. Fields with a
// value on one line come first, because what follows them may be long.
func Of(tool, arguments string) Form {
	fields, ok := membersOf([]byte(arguments))
	if !ok {
		return block("arguments", arguments)
	}
	if len(fields) == 0 {
		return Form{{Field, "", "no arguments"}}
	}
	forms := formOf(commands[tool], "", fields, maxDepth)
	slices.SortStableFunc(forms, func(a, b Form) int { return rank(a) - rank(b) })
	return aligned(slices.Concat(forms...))
}

func rank(f Form) int {
	if f[0].Kind == Field {
		return 0
	}
	return 1
}

// maxNameWidth is the width up to which names are padded, so that the values begin in the same column.
const maxNameWidth = 20

// aligned puts spaces after the names of fields.
func aligned(f Form) Form {
	width := 0
	for _, l := range f {
		if w := utf8.RuneCountInString(l.Lead); l.Kind == Field && w <= maxNameWidth {
			width = max(width, w)
		}
	}
	for i, l := range f {
		if l.Kind == Field {
			f[i].Lead += strings.Repeat(" ", max(0, width-utf8.RuneCountInString(l.Lead))+2)
		}
	}
	return f
}

// member is a field of an object, or an element of an array.
type member struct {
	// name is the name or the index, as it stands in a path, such as "path" or "[0]".
	name  string
	value json.RawMessage
}

// membersOf returns the members of an object or an array in their order. It returns false for any other text.
func membersOf(text []byte) ([]member, bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') || !json.Valid(text) {
		return nil, false
	}
	members := []member{}
	for d.More() {
		m := member{name: fmt.Sprintf("[%d]", len(members))}
		if open == json.Delim('{') {
			name, _ := d.Token()
			m.name = nameText(name.(string))
		}
		if d.Decode(&m.value) != nil {
			return nil, false
		}
		members = append(members, m)
	}
	return members, true
}

// plainName matches a name that can stand in a path as it is.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)

func nameText(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return quoted(name)
}

// formOf returns a form for each of the members, and one for two members that are an edit. `command` is the name of the member that is a
// command; empty if there is none.
func formOf(command, path string, members []member, depth int) []Form {
	var forms []Form
	old, changed := editOf(members)
	for i, m := range members {
		name := join(path, m.name)
		text, isText := textOf(m.value)
		_, escaped := printable.Exact(text)
		inner, nested := membersOf(m.value)
		switch {
		case i == old && old != changed:
			after, _ := textOf(members[changed].value)
			forms = append(forms, edit(name+" → "+members[changed].name, text, after))
		case i == changed && old != changed:
		case isText && m.name == command && path == "" && text != "" && !escaped:
			forms = append(forms, commandForm(text))
		case strings.Contains(text, "\n"):
			forms = append(forms, block(name, text))
		case nested && depth > 0 && slices.ContainsFunc(inner, func(m member) bool { return hasLines(m.value) }):
			forms = append(forms, formOf("", name, inner, depth-1)...)
		default:
			forms = append(forms, Form{{Field, name, valueText(m.value)}})
		}
	}
	return forms
}

func join(path, name string) string {
	if path == "" || name[0] == '[' {
		return path + name
	}
	return path + "." + name
}

// hasLines reports whether a text inside a value has a line break. In JSON, that is the escape \n.
func hasLines(value json.RawMessage) bool {
	return bytes.Contains(value, []byte(`\n`)) || bytes.Contains(value, []byte(`\u000`))
}

// editOf returns the indexes of the two members that are an edit; both are -1 if there is none.
func editOf(members []member) (old, changed int) {
	for _, pair := range edits {
		at := [2]int{-1, -1}
		for i, m := range members {
			for side, name := range pair {
				if _, ok := textOf(m.value); ok && m.name == name {
					if at[side] >= 0 {
						return -1, -1 // two members with one name: each is shown
					}
					at[side] = i
				}
			}
		}
		if at[0] >= 0 && at[1] >= 0 {
			return at[0], at[1]
		}
	}
	return -1, -1
}

// textOf returns the string that a value is.
func textOf(value json.RawMessage) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	var text string
	return text, json.Unmarshal(value, &text) == nil
}

// valueText returns a value on one line. A string stands without quotes, unless it could be taken for another value, or has characters that
// cannot be seen.
func valueText(value json.RawMessage) string {
	text, isText := textOf(value)
	if !isText {
		var compact bytes.Buffer
		if json.Compact(&compact, value) != nil {
			return quoted(string(value))
		}
		return visible(compact.Bytes())
	}
	exact, escaped := printable.Exact(text)
	if escaped || strings.ContainsAny(text, "\n\t") || text == "" || strings.TrimSpace(text) != text || text[0] == '"' || json.Valid([]byte(text)) {
		return visible(value)
	}
	return exact
}

// quoted returns a text as a JSON string.
func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string is always JSON
	return visible(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// visible returns JSON in which white space that looks like a space, and characters that cannot be seen, are escapes.
func visible(encoded []byte) string {
	var b strings.Builder
	for _, r := range string(printable.JSON(encoded)) {
		if r != ' ' && unicode.IsSpace(r) { // a wide space, for example
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// block returns a title with the size of a text, and the lines of the text.
func block(name, text string) Form {
	exact, escaped := printable.Exact(text)
	lines := strings.Split(strings.TrimSuffix(exact, "\n"), "\n") // a line break at the end begins no further line
	f := Form{{Title, name + " ", "(" + plural.Of(len(lines), "line") + ", " + plural.Of(len(text), "byte") + escapesText(escaped) + ")"}}
	for _, line := range lines {
		f = append(f, Line{Text, "  ", line})
	}
	return f
}

func escapesText(escaped bool) string {
	if escaped {
		return `; with escapes, \\ is a backslash`
	}
	return ""
}

func commandForm(command string) Form {
	first, rest, more := strings.Cut(command, "\n")
	f := Form{{Command, "$ ", first}}
	if more {
		for line := range strings.SplitSeq(rest, "\n") {
			f = append(f, Line{Continued, "  ", line})
		}
	}
	return f
}

// edit returns a title with the number of lines that an edit removes and adds, and the lines.
func edit(name, before, after string) Form {
	old, oldEscaped := printable.Exact(before)
	changed, newEscaped := printable.Exact(after)
	if oldEscaped != newEscaped { // a backslash must look the same on both sides
		old, changed = printable.Escaped(before), printable.Escaped(after)
	}
	f := Form{{Title, name + " ", ""}}
	removed, added, at := 0, 0, 0
	add := func(kind Kind, lead, text string) (n int) {
		for line := range strings.Lines(text) {
			f = append(f, Line{kind, lead, strings.TrimSuffix(line, "\n")})
			n++
		}
		return n
	}
	for _, e := range udiff.Lines(old, changed) {
		add(Kept, "    ", old[at:e.Start])
		removed += add(Removed, "  - ", old[e.Start:e.End])
		added += add(Added, "  + ", e.New)
		at = e.End
	}
	add(Kept, "    ", old[at:])
	f[0].Text = fmt.Sprintf("(-%d +%d lines, %d → %s%s)", removed, added, len(before), plural.Of(len(after), "byte"), escapesText(oldEscaped || newEscaped))
	return f
}
