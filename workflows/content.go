package workflows

import (
	"strings"

	"github.com/reagent-dev/reagent/agent"
)

// said returns what a person, a model or a tool has said, for a text that Temporal's Web UI shows. It returns "" if the start keeps that
// out: see [agent.Start].NoUIContent. Each such text passes here, so a new one has to, too.
func said(in agent.Start, text string) string {
	if in.NoUIContent {
		return ""
	}
	return text
}

func (d *driver) said(text string) string { return said(d.start, text) }

// saidBlock returns what somebody has said as a code block in Markdown: see [quote]. It returns "" if the agent keeps that out of the Web UI.
func (d *driver) saidBlock(text string, limit int) string {
	if d.start.NoUIContent {
		return ""
	}
	return "\n" + quote(text, limit) + "\n"
}

// joined returns the parts that are not empty, with " · " between them.
func joined(parts ...string) string {
	var all []string
	for _, p := range parts {
		if p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, " · ")
}
