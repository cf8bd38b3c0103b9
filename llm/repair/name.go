package repair

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// maxName is the length of the longest tool name that endpoints accept, in bytes.
const maxName = 64

var (
	// namespaces matches the prefixes that models often add to a tool's name. It does not match prefixes of MCP servers,
	// because the name without such a prefix could be the name of another server's tool.
	namespaces = regexp.MustCompile(`^(?:functions?|tools?|default_api)[.:/]`)
	// ordinal matches the number at the end of a name such as functions.read:0. Some call IDs have this form.
	ordinal = regexp.MustCompile(`:\d+$`)
	// unsendable matches characters that endpoints do not accept in a name.
	unsendable = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// resolve finds the tool that the model meant by a name. The parameter said is the name as the model wrote it. resolve
// returns the name of the tool and true. If the model may have meant no tool or several tools, resolve returns a
// replacement for the name in the message, and false. Endpoints accept this replacement, and no tool has it as its name.
func resolve(said string, tools []llm.ToolSpec) (string, bool) {
	if slices.ContainsFunc(tools, func(t llm.ToolSpec) bool { return t.Name == said }) {
		return said, true
	}
	if near := meant(said, tools); len(near) == 1 {
		return near[0], true
	}
	return sendable(said, tools), false
}

// meant returns the names of the tools that the model may have meant by a name. The parameter said is the name as the model
// wrote it. meant compares names in the normal form of [fold]. A tool matches if its name is equal to the written name,
// either as it is or without the parts that [namespaces] and [ordinal] match.
func meant(said string, tools []llm.ToolSpec) []string {
	trimmed := strings.TrimSpace(said)
	forms := []string{fold(trimmed), fold(ordinal.ReplaceAllString(namespaces.ReplaceAllString(trimmed, ""), ""))}
	var names []string
	for _, t := range tools {
		if slices.Contains(forms, fold(t.Name)) {
			names = append(names, t.Name)
		}
	}
	return names
}

// fold returns a name in a normal form. Names that models confuse have the same normal form: it ignores case, and it does not
// distinguish "-", ".", " " and "_".
func fold(name string) string {
	return strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(strings.ToLower(name))
}

// sendable changes a name so that endpoints accept it. It replaces invalid characters and cuts the name to maxName bytes.
// The changed name may look like the name of a tool. If [meant] finds such a tool, sendable returns a name such as
// "unknown_0" instead, because otherwise the model may copy the changed name from the transcript.
func sendable(name string, tools []llm.ToolSpec) string {
	clean := unsendable.ReplaceAllString(name, "_")
	if clean == "" {
		clean = "unnamed"
	}
	clean = clean[:min(len(clean), maxName)]
	if clean == name {
		return name
	}
	for n := 0; len(meant(clean, tools)) > 0; n++ {
		clean = fmt.Sprintf("unknown_%d", n)
	}
	return clean
}
