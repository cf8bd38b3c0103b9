package repair

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// maxName is the length of a tool's name that endpoints take.
const maxName = 64

var (
	// namespaces are what models put before a tool's name out of habit. A
	// server's prefix is none of them: another server's tool may hide behind it.
	namespaces = regexp.MustCompile(`^(?:functions?|tools?|default_api)[.:/]`)
	// ordinal matches the rest of a call's ID in the form functions.name:0.
	ordinal = regexp.MustCompile(`:\d+$`)
	// unsendable matches characters that endpoints refuse in a name.
	unsendable = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// resolve returns the name of the one tool that can be meant, and true. A name
// that could be none or several comes back in a form that endpoints take as a
// part of the history, and that means no tool.
func resolve(said string, tools []llm.ToolSpec) (string, bool) {
	if slices.ContainsFunc(tools, func(t llm.ToolSpec) bool { return t.Name == said }) {
		return said, true
	}
	if near := meant(said, tools); len(near) == 1 {
		return near[0], true
	}
	return sendable(said, tools), false
}

// meant returns the tools that a name may stand for.
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

// fold is what names have in common that a model takes for one another.
func fold(name string) string {
	return strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(strings.ToLower(name))
}

// sendable returns name with what endpoints refuse replaced.
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
