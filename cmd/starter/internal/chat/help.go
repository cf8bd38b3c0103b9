package chat

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	// helpWidth is the width for which [keysText] and [commandsText] are written.
	helpWidth = 80
	// keyColumn is the width of the column with the keys in keysText.
	keyColumn = 12
)

// helpLines returns the text of /help. On a narrow screen, what a key does is wrapped in its column, and what a command does stands below it.
func helpLines(width int) []string {
	if width >= helpWidth {
		return hanging(keysText+commandsText, width)
	}
	var lines []string
	for _, entry := range helpEntries(keysText + commandsText) {
		name, about, _ := strings.Cut(entry, "  ")
		if about == "" {
			lines = append(lines, prefixed("", words(name, width-2), "  ")...)
			continue
		}
		about = strings.TrimSpace(about)
		if indent := strings.Repeat(" ", keyColumn); len(name) < keyColumn && !strings.HasPrefix(name, "/") {
			lines = append(lines, prefixed(name+indent[len(name):], words(about, width-keyColumn), indent)...)
		} else {
			lines = append(lines, prefixed("", words(name, width-2), "  ")...)
			lines = append(lines, prefixed("    ", words(about, width-4), "    ")...)
		}
	}
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, width, "")
	}
	return lines
}

// helpEntries joins each line of a text with those below it that begin with a space. Two spaces stand before what it says about its key or
// command.
func helpEntries(text string) []string {
	var entries []string
	for line := range strings.SplitSeq(text, "\n") {
		if rest := strings.TrimLeft(line, " "); rest != line && len(entries) > 0 {
			last := &entries[len(entries)-1]
			if !strings.Contains(*last, "  ") {
				*last += " "
			}
			*last += " " + rest
			continue
		}
		entries = append(entries, line)
	}
	return entries
}

// words wraps a text at its spaces only, because names such as --for-agent must stay whole.
func words(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case ansi.StringWidth(*last)+1+ansi.StringWidth(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
