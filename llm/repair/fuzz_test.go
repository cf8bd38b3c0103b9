package repair_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/canon"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/repair"
)

var sendable = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// FuzzReply checks that endpoints accept the calls that may enter a transcript, and that arguments which the core would run are
// JSON objects that all decoders read in the same way.
func FuzzReply(f *testing.F) {
	f.Add("", "get_weather", `{"city":"Paris"}`, "stop")
	f.Add("<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>", "", "", "stop")
	f.Add("<function=read={}</function>", "functions.Read:1", "```json\n{\"a\":1}\n```", "length")
	f.Add("x", "get-weather", `"{\"a\":1}"`, "length")
	f.Add("x", "list_files", `{"a":"\ud83d","a":[{"b":1,"b":2}]}</x>`, "")
	f.Add("x", "list_files", `{"a":1} {"a": 1}`, "")
	for _, text := range markups {
		f.Add("I'll look.\n"+text, "", "", "stop")
	}
	for _, text := range unmarkedCalls {
		f.Add(text, "", "", "stop")
	}
	f.Add("a\n</think>\n[THINK]b[/THINK]<think>c", "", "", "length")
	f.Fuzz(func(t *testing.T, content, name, arguments, reason string) {
		content, name, arguments = decoded(content), decoded(name), decoded(arguments)
		given := llm.Reply{FinishReason: reason, Message: llm.Message{Role: llm.Assistant, Content: content}}
		if name != "" || arguments != "" {
			given.Message.ToolCalls = []llm.ToolCall{{Name: name, Arguments: arguments}, {Name: name, Arguments: arguments}}
		}
		req := llm.Request{Tools: tools}

		got := repair.Reply(given, req)

		ids := map[string]bool{"": true}
		for i, call := range got.Message.ToolCalls {
			require.False(t, ids[call.ID])
			ids[call.ID] = true
			require.Regexp(t, sendable, call.Name)
			original := arguments
			if given.Message.ToolCalls == nil {
				continue
			}
			if _, err := canon.Text([]byte(original)); err == nil && strings.HasPrefix(strings.TrimSpace(original), "{") {
				require.Equal(t, original, call.Arguments, "what is right stays as it is")
			} else if call.Arguments != original && call.Arguments != "{" {
				_, err := canon.Text([]byte(call.Arguments))
				require.NoError(t, err, "call %d: %q became %q", i, original, call.Arguments)
				require.True(t, json.Valid([]byte(call.Arguments)))
			}
		}
		again := repair.Reply(got, req)
		again.Repaired = got.Repaired
		require.Equal(t, got, again, "what is put right is right")
	})
}

// decoded returns s as a JSON decoder would return it: as valid UTF-8.
func decoded(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
