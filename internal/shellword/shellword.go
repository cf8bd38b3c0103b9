// Package shellword writes commands that a person copies into a shell. The project makes every command here that it prints with an
// ID, a name or another text from outside.
package shellword

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/reagent-dev/reagent/internal/printable"
)

// Quote returns a text in a form that a POSIX shell reads as one word, with exactly this text. The form is on one line and has only
// printable characters, so it is safe on a terminal. It has no backtick and no two spaces in a row, so Markdown keeps it as it is.
//
// A text of letters, digits and some signs is returned unchanged. Other texts are in single quotes. A text that cannot be printed
// becomes a call of printf; if it ends with new lines, the shell reads it without these. A word that begins with a dash is still an
// option for most programs: see [Command].
func Quote(text string) string {
	if text != "" && text[0] != '=' && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text // zsh replaces =name by the path of a program
	}
	if printableOnOneLine(text) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString(`"$(printf %b '`)
	for _, c := range []byte(text) {
		if c < 0x80 && plain(rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\0%03o`, c)
		}
	}
	return b.String() + `')"`
}

func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@+=,", r)
}

func printableOnOneLine(text string) bool {
	return text == strings.TrimSpace(text) && !strings.Contains(text, "  ") && printable.Text(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return r == '`' || r != ' ' && unicode.IsSpace(r) })
}

// Command is a command line of the program starter, for a person.
type Command struct {
	verb, flags, rest string
	args              []string
}

// Starter returns the command of starter with the given name, such as "approve", and arguments, such as the ID of an agent. The
// arguments may come from anywhere: [Command.String] quotes them.
func Starter(verb string, args ...string) Command { return Command{verb: verb, args: args} }

// With returns the command with flags. They are written as they are, so their values must be constants, or come from [Quote].
func (c Command) With(flags string) Command {
	c.flags = " " + flags
	return c
}

// Then returns the command with a last argument that the person has to replace, such as TEXT. It is written as it is.
func (c Command) Then(placeholder string) Command {
	c.rest = " " + placeholder
	return c
}

// String returns the command line. If an argument begins with a dash, starter would take it for a flag, so the arguments follow the flags
// and "--".
func (c Command) String() string {
	args, guard := "", false
	for _, arg := range c.args {
		args += " " + Quote(arg)
		guard = guard || strings.HasPrefix(arg, "-")
	}
	if guard {
		return "starter " + c.verb + c.flags + " --" + args + c.rest
	}
	return "starter " + c.verb + args + c.flags + c.rest
}
