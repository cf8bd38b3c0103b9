package openai_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// shown is what people have seen of a reply when its last delta has come.
type shown struct{ text, reasoning, arguments string }

func follow(pieces []llm.Delta) (s shown) {
	put := func(to *string, part string, whole bool) {
		if part != "" && whole {
			*to = ""
		}
		*to += part
	}
	for _, d := range pieces {
		put(&s.text, d.Text, d.Whole)
		put(&s.reasoning, d.Reasoning, d.Whole)
		if d.ToolCall != nil {
			put(&s.arguments, d.ToolCall.Arguments, d.Whole)
		}
	}
	return s
}

// What stands in the events at the ends of the parts counts in place of deltas that say something else, also for those who follow the
// deltas. Copilot sends encrypted deltas, for example.
func TestCorrectedDeltasAreReplacedInTheDisplay(t *testing.T) {
	t.Parallel()
	delta := `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":"gAAAAABo"}`
	second := strings.NewReplacer("msg_1", "msg_2", `"output_index":0`, `"output_index":1`)
	thought := []string{
		`{"type":"response.output_item.added","output_index":2,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
		`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":2,"summary_index":0,"delta":"gAAAAABq"}`,
		`{"type":"response.reasoning_summary_text.done","item_id":"rs_1","output_index":2,"summary_index":0,"text":"It may rain."}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"It may rain."}]}}`,
	}
	call := []string{
		`{"type":"response.output_item.added","output_index":3,"item":{"id":"fc_1","type":"function_call","call_id":"c","name":"get_weather","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":3,"delta":"gAAAAABr"}`,
	}
	callDone := `{"type":"response.output_item.done","output_index":3,"item":{"id":"fc_1","type":"function_call","call_id":"c","name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}`
	argumentsDone := `{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":3,"arguments":"{\"city\":\"Paris\"}"}`
	finalCall := strings.Replace(emptyCompleted, `"output":[]`, `"output":[{"id":"fc_1","type":"function_call","call_id":"c","name":"get_weather","arguments":"{\"city\":\"Paris\"}"}]`, 1)
	for name, test := range map[string]struct {
		events []string
		want   shown
	}{
		"text.done":        {[]string{sunnyAdded, delta, `{"type":"response.output_text.done","item_id":"msg_1","output_index":0,"text":"Sunny."}`, emptyCompleted}, shown{text: "Sunny."}},
		"item.done":        {[]string{sunnyAdded, delta, sunnyDone, emptyCompleted}, shown{text: "Sunny."}},
		"completed":        {[]string{sunnyAdded, delta, sunnyCompleted}, shown{text: "Sunny."}},
		"of two messages":  {[]string{sunnyAdded, sunnyDelta, sunnyDone, second.Replace(sunnyAdded), second.Replace(delta), second.Replace(sunnyDone), emptyCompleted}, shown{text: "Sunny." + "\n\n" + "Sunny."}},
		"reasoning":        {append(thought, sunnyAdded, sunnyDelta, sunnyDone, emptyCompleted), shown{text: "Sunny.", reasoning: "It may rain."}},
		"call, item.done":  {append(call, callDone, emptyCompleted), shown{arguments: `{"city":"Paris"}`}},
		"call, done":       {append(call, argumentsDone, callDone, emptyCompleted), shown{arguments: `{"city":"Paris"}`}},
		"call, completed":  {append(call, finalCall), shown{arguments: `{"city":"Paris"}`}},
		"as it was before": {[]string{sunnyAdded, sunnyDelta, sunnyDone, sunnyCompleted}, shown{text: "Sunny."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, pieces, err := replied(t, "text/event-stream", streamOf(test.events...))
			require.NoError(t, err)
			require.Equal(t, test.want, follow(pieces))
			m := reply.Message
			require.Equal(t, test.want.text, m.Content)
			require.Equal(t, test.want.reasoning, m.Reasoning)
			if test.want.arguments != "" {
				require.JSONEq(t, test.want.arguments, m.ToolCalls[0].Arguments)
			}
			corrected := 0
			for _, d := range pieces {
				if d.Whole {
					corrected++
				}
			}
			require.Equal(t, map[bool]int{true: 0, false: 1}[name == "as it was before"], corrected)
		})
	}
}
