package standin

import (
	"fmt"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// DeepSeek returns a [Provider] that behaves like DeepSeek in thinking mode.
//   - Each reply has a reasoning in `reasoning_content`.
//   - In a request, each assistant message with calls must have this member, with the text of the reply or with an empty text.
//   - The final message of a turn with calls should have the member; if it is missing, this is a violation.
//   - In other messages the member is ignored.
//   - A body with "thinking":{"type":"disabled"} turns the thinking off.
//   - While the model thinks, a `tool_choice` that forces a call is refused.
//   - The type json_schema of `response_format` is refused. For json_object, the word JSON must be in a message.
//
// Sources: DeepSeek's guide "Thinking Mode", and for the wording the issue JohnnyZ93/oai-compatible-copilot#215. The pull request
// theopenco/llmgateway#2093 reports that an empty text is accepted. The page "JSON Output" has the rules of `response_format`, and the issues
// llm-exe/llm-exe#662 and vercel/ai#7913 the wordings. For `tool_choice`, see deepseek-ai/DeepSeek-V3#1376.
//
// Its Messages API has the same rule for the thinking blocks of messages with calls, whoever made the calls. It does not verify signatures,
// and accepts an empty text. The signature in a whole reply is the ID of the reply; a stream has none. An error has the form of the other
// API. Sources: DeepSeek's reference "Messages API", which says that the thinking of its own calls may be restored if it is missing, but not
// when. So this stand-in never restores it. The wording is that of the issue decolua/9router#2397; the rest is reported in
// esengine/DeepSeek-Reasonix#8927, Alishahryar1/free-claude-code#599 and NousResearch/hermes-agent#21048.
func DeepSeek() *Provider {
	return &Provider{rules: []rule{deepSeekThought, deepSeekFormat, deepSeekChoice}, dress: thoughtful, compatible: &compatible{
		rule: deepSeekBlock, sign: func(string) string { return messageID }, signStream: unsigned, problem: chat{}.problem,
	}}
}

// deepSeekBlock checks the thinking of an assistant message by the rules of [DeepSeek].
func deepSeekBlock(_ *posted, _ int, calls bool, thought *string) *refusal {
	if !calls || thought != nil {
		return nil
	}
	refused := invalid("", "The `content[].thinking` in the thinking mode must be passed back to the API.")
	refused.code = "invalid_request_error"
	return refused
}

func deepSeekChoice(_ *Provider, r *posted) *refusal {
	if !r.thinks() || slices.Contains([]string{"", "auto", "none"}, r.toolChoice()) {
		return nil
	}
	return coded(invalid("", "Thinking mode does not support this tool_choice"), "invalid_request_error")
}

func deepSeekFormat(_ *Provider, r *posted) *refusal {
	var refused *refusal
	switch kind := r.outputFormat(); {
	case kind == "json_schema":
		refused = invalid("", "This response_format type is unavailable now")
	case kind == "json_object" && !r.says("json"):
		refused = invalid("", "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.")
	default:
		return nil
	}
	refused.code = "invalid_request_error"
	return refused
}

// thoughtful adds a reasoning to a reply, unless the request turns thinking off.
func thoughtful(p *Provider, r *posted, reply llm.Reply) llm.Reply {
	if r.thinks() {
		reply.Message.Reasoning = r.thought(reply)
		p.remember(key(reply.Message), reply.Message.Reasoning)
	}
	return reply
}

// deepSeekThought checks the reasoning of the assistant messages by the rules of [DeepSeek].
func deepSeekThought(p *Provider, r *posted) *refusal {
	if !r.thinks() {
		return nil
	}
	called := false // whether the present turn has calls
	for i, m := range r.Messages {
		if m.Role != "assistant" {
			called = called && m.Role == "tool"
			continue
		}
		thought, found := r.text(i, "reasoning_content")
		if len(m.ToolCalls) == 0 {
			if called && !found {
				p.violation(fmt.Sprintf("messages[%d]: the last message of a turn with calls has no reasoning_content", i))
			}
			continue
		}
		called = true
		sent := p.memory(key(m.message()))
		if !found || thought != "" && sent != nil && !slices.Contains(sent, thought) {
			refused := invalid("", "The `reasoning_content` in the thinking mode must be passed back to the API.")
			refused.code = "invalid_request_error"
			return refused
		}
	}
	return nil
}
