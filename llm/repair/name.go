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

// resolve finds the tool that the model meant by the name `said`. If a tool has this name, or if exactly one tool has a
// similar name (see [meant]), resolve returns the name of the tool and true. Otherwise it returns false and a name that no
// tool has. This name is made from `said`, and endpoints accept it in a message.
func resolve(said string, tools []llm.ToolSpec) (string, bool) {
	if offered(said, tools) {
		return said, true
	}
	if near := meant(said, tools); len(near) == 1 {
		return near[0], true
	}
	return sendable(said, tools), false
}

// meant returns the names of the tools that the model may have meant by the name `said`. It compares names in the normal form
// of [fold]. A tool matches if its name equals `said`. A tool also matches if its name equals `said` without a prefix such as
// "functions." and a suffix such as ":0".
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

// fold returns the normal form of a name. Two names have the same normal form if they differ only in upper and lower case or
// in the characters "-", ".", " " and "_". Models confuse such names.
func fold(name string) string {
	return strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(strings.ToLower(name))
}

// sendable returns a name that endpoints accept, made from the name of an unknown tool. If endpoints accept the given name, sendable
// returns it unchanged. In any other name, it replaces invalid characters, and cuts the name to [maxName] bytes. If the changed name
// looks like the name of a tool, sendable returns a name such as "unknown_0" instead, because the model could copy the changed name from
// the conversation and so call this tool.
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
