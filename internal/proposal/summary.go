package proposal

import (
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
)

// pathFields are the fields with the file on which a call works.
var pathFields = []string{"path", "file_path", "file"}

// Summary returns what a call does on one line of at most `limit` characters, such as "notes.md +1 -1" for an edit, "notes.md (2 lines)" for
// a file to write, and "go test ./..." for a command. For other calls, it returns the arguments. It is for lists of calls. A person who
// decides on a call needs its form: see [Of].
func Summary(tool, arguments string, limit int) string {
	members, _ := membersOf([]byte(arguments))
	texts := map[string]string{}
	for _, m := range members {
		if text, ok := textOf(m.value); ok {
			texts[m.name] = text
		}
	}
	if command := texts[commands[tool]]; command != "" {
		return printable.Line(command, limit)
	}
	for _, field := range pathFields {
		if change := changeText(members, texts["content"]); texts[field] != "" && change != "" {
			return printable.Line(texts[field], max(1, limit-len(change)-1)) + " " + change
		}
	}
	return printable.Line(arguments, limit)
}

// changeText says how large the change of a file is; empty if the members are no such change. `content` is the new content of the file.
func changeText(members []member, content string) string {
	old, changed := editOf(members)
	if old < 0 && content != "" {
		return "(" + plural.Of(strings.Count(strings.TrimSuffix(content, "\n"), "\n")+1, "line") + ")"
	}
	if old < 0 {
		return ""
	}
	before, _ := textOf(members[old].value)
	after, _ := textOf(members[changed].value)
	removed, added := 0, 0
	for _, l := range edit("", before, after) {
		switch l.Kind {
		case Removed:
			removed++
		case Added:
			added++
		}
	}
	return fmt.Sprintf("+%d -%d", added, removed)
}
