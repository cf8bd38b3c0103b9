package openai

import (
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// bridge is the text of a message between the result of a tool and a message of the user, for endpoints that refuse one directly
// after the other.
const bridge = "I have the result."

// conversation returns the messages of a request as an endpoint with the form f accepts them. It does not modify the given messages.
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
		if m.Role == llm.User && len(instructions) > 0 {
			m.Content = strings.Join(append(instructions, m.Content), "\n\n")
			instructions = nil
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		f.withCallIDs(&m)
		all = append(all, m)
	}
	if len(instructions) > 0 { // there is no user message
		all = append([]llm.Message{{Role: llm.User, Content: strings.Join(instructions, "\n\n")}}, all...)
	}
	return all
}
