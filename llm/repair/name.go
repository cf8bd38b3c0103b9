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

// resolve returns the name of the tool that the model meant when it wrote the name said, and true. If no tool or more than one
// tool could be meant, it returns false and a name for the message. Endpoints accept this name, and it is not the name of a
// tool.
func resolve(said string, tools []llm.ToolSpec) (string, bool) {
	if slices.ContainsFunc(tools, func(t llm.ToolSpec) bool { return t.Name == said }) {
		return said, true
	}
	if near := meant(said, tools); len(near) == 1 {
		return near[0], true
	}
	return sendable(said, tools), false
}

// meant returns the names of the tools that the model may have meant when it wrote the name said. It compares names in the
// normal form of [fold], with and without the parts of said that [namespaces] and [ordinal] match.
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

// sendable returns a name that endpoints accept. It replaces invalid characters in name and cuts the name to maxName bytes. If
// this changes the name and [meant] finds a tool for the new name, sendable returns a name such as "unknown_0" instead.
// Otherwise the name in the transcript would look like the name of this tool, and the model may copy it from the transcript.
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
