// Package proposal shows the arguments of a call as a person judges them: a text with its line breaks, an edit as a difference, a command as
// it would run, and all other values as a small table.
//
// Different arguments look different. The exceptions are the order of fields, which no tool knows, and white space: a tab in a text of
// several lines looks like spaces, and the number of bytes above the text tells them apart. The arguments may be of unknown origin: no form
// has a character that controls a terminal.
package proposal

import (
	"strings"

	"github.com/reagent-dev/reagent/internal/plural"
)

// Kind says what a line of a form is.
type Kind int

// The kinds of lines.
const (
	// Field is a field with its value. The value may be empty only if the arguments have no fields.
	Field Kind = iota
	// Title is the name of a field whose value begins on the next line.
	Title
	// Text is a line of a text.
	Text
	// Command is the first line of a command, and Continued each of its other lines.
	Command
	Continued
	// Kept, Removed and Added are lines of an edit.
	Kept
	Removed
	Added
	// Folded is a line of [Form.Fold] that stands for lines of an edit.
	Folded
)

// Line is one line of a form. It has no line break.
type Line struct {
	Kind Kind
	// Lead is the mark or the name with which the line begins, and the spaces after it, such as "  + " for a line that an edit adds.
	Lead string
	// Text is the value, or for a title the size of the value.
	Text string
}

// Form is the arguments of a call, as lines. It is a value: nothing changes it after [Of] has made it.
type Form []Line

// String returns the form as plain text. Each line ends with a line break.
func (f Form) String() string {
	var b strings.Builder
	for _, l := range f {
		b.WriteString(l.Lead + l.Text + "\n")
	}
	return b.String()
}

// context is the number of unchanged lines that [Form.Fold] keeps before and after a change.
const context = 3

// Fold returns a form in which one line takes the place of the unchanged lines of an edit, except for those next to a change. It says how many
// they are, and `how` follows, which may tell how to see them. A fold never hides a single line. The form is not changed.
func (f Form) Fold(how string) Form {
	var folded Form
	for at := 0; at < len(f); {
		end := at
		for end < len(f) && f[end].Kind == Kept {
			end++
		}
		if end == at {
			folded, at = append(folded, f[at]), at+1
			continue
		}
		before, after := context, context // the lines to keep at both ends of the unchanged ones
		if at == 0 || f[at-1].Kind == Title {
			before = 0
		}
		if end == len(f) || f[end].Kind != Removed && f[end].Kind != Added {
			after = 0
		}
		if hidden := end - at - before - after; hidden > 1 {
			folded = append(folded, f[at:at+before]...)
			folded = append(folded, Line{Folded, "  ", "… " + plural.Of(hidden, "unchanged line") + how})
			at = end - after
		}
		folded, at = append(folded, f[at:end]...), end
	}
	return folded
}

const (
	shortLines      = 40
	shortCharacters = 4000
)

// Short is [Form.Fold] and [Form.Cut] for lists of calls: it keeps 40 lines and 4,000 characters.
func (f Form) Short(how string) (begin Form, left string) {
	return f.Fold(how).Cut(shortLines, shortCharacters)
}

// Cut returns the beginning of a form, with at most `lines` lines and `characters` characters. `left` says how much it leaves out, such as
// "12 lines with 345 characters"; it is empty if the form is whole.
func (f Form) Cut(lines, characters int) (begin Form, left string) {
	leftLines, leftCharacters := 0, 0
	for i, l := range f {
		text := []rune(l.Text)
		room := max(0, characters-len([]rune(l.Lead)))
		switch {
		case i >= lines, len(begin) < i, room == 0 && len(text) > 0:
			leftLines, leftCharacters = leftLines+1, leftCharacters+len(text)
			continue
		case len(text) > room:
			leftCharacters += len(text) - room
			l.Text = string(text[:room]) + "…"
		}
		characters = room - min(room, len(text))
		begin = append(begin, l)
	}
	switch {
	case leftCharacters == 0 && leftLines == 0:
		return f, ""
	case leftLines == 0:
		return begin, plural.Of(leftCharacters, "character")
	}
	return begin, plural.Of(leftLines, "line") + " with " + plural.Of(leftCharacters, "character")
}
