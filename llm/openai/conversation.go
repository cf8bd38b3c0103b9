package openai

import (
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// bridge is the text of an assistant message that the client inserts between a tool message and a user message. Some endpoints refuse
// a user message directly after a tool message.
const bridge = "I have the result."

// conversation returns the messages of a request in the form `f`. It does not modify the given messages.
func (f form) conversation(messages []llm.Message) []llm.Message {
	var all []llm.Message
	var instructions []string
	for i, m := range messages {
		switch {
		case m.Role == llm.System && f.has(userRole):
			instructions = append(instructions, m.Content)
			continue
		case m.Role == llm.System && f.has(developerRole):
			m.Role = "developer"
		case m.Role == llm.User && i > 0 && messages[i-1].Role == llm.Tool && f.has(bridged):
			all = append(all, llm.Message{Role: llm.Assistant, Content: bridge})
		}
		if last := len(all) - 1; f.has(joined) && m.Role == llm.User && last >= 0 && all[last].Role == llm.User {
			all[last].Content = strings.TrimSpace(all[last].Content + "\n\n" + m.Content)
			all[last].Parts = slices.Concat(all[last].Parts, m.Parts)
			continue
		}
		if m.Role == llm.User && len(instructions) > 0 {
			m.Content = strings.Join(append(instructions, m.Content), "\n\n")
			instructions = nil
		}
		if m.ToolCallID != "" {
			m.ToolCallID = f.callID(m.ToolCallID)
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for i := range m.ToolCalls {
			m.ToolCalls[i].ID = f.callID(m.ToolCalls[i].ID)
		}
		all = append(all, m)
	}
	if len(instructions) > 0 { // there is no user message
		all = append([]llm.Message{{Role: llm.User, Content: strings.Join(instructions, "\n\n")}}, all...)
	}
	return all
}
