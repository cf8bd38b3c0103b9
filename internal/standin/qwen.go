package standin

import (
	"cmp"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Qwen returns a [Provider] that behaves like Qwen at Alibaba Cloud Model Studio (DashScope).
//   - Only some models of the line qwen-plus take the output format json_schema. For the others it counts as json_object.
//   - For json_object, the word JSON must be in a message.
//   - A body with "enable_thinking":true turns the thinking on. Each reply then has a reasoning in `reasoning_content`, which need not go
//     back. Such a request must be streamed, and takes no output format.
//
// Sources: Alibaba's page "Structured output"; agno-agi/agno#5317 for json_schema, the wording and the body; presenton/presenton#184 and
// langchain4j/langchain4j#3974 for thinking. Newer models take more; this Provider is one of the strict ones.
func Qwen() *Provider {
	return &Provider{rules: []rule{qwenThinking, qwenFormat}, dress: qwenThought, problem: qwenProblem}
}

// qwenThinks reports whether the request turns thinking on.
func qwenThinks(r *posted) bool { return string(r.fields["enable_thinking"]) == "true" }

func qwenThinking(_ *Provider, r *posted) *refusal {
	switch {
	case !qwenThinks(r):
		return nil
	case !r.Stream:
		return invalid("", "parameter.enable_thinking must be set to false for non-streaming calls")
	case r.outputFormat() != "":
		return invalid("", "<400> InternalError.Algo.InvalidParameter: Json mode response is not supported when enable_thinking is true")
	}
	return nil
}

func qwenFormat(_ *Provider, r *posted) *refusal {
	kind := r.outputFormat()
	if kind == "" || kind == "json_schema" && strings.HasPrefix(r.Model, "qwen-plus") || r.says("json") {
		return nil
	}
	return invalid("", "<400> InternalError.Algo.InvalidParameter: 'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
}

func qwenThought(_ *Provider, r *posted, reply llm.Reply) llm.Reply {
	if qwenThinks(r) {
		reply.Message.Reasoning = r.thought(reply)
	}
	return reply
}

func qwenProblem(r *refusal) any {
	return map[string]any{"request_id": "request-1", "error": map[string]any{
		"message": r.message, "type": kindOf(r), "param": orNull(r.param), "code": cmp.Or(r.code, "invalid_parameter_error"),
	}}
}
