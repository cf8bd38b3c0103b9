package openai

import (
	"cmp"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// completion is the body of a response that contains a reply. It has only the fields that the client needs, and the types of
// its fields accept any JSON value. The types of go-openai are stricter. For example, they cannot decode a response whose
// field "created" has an unexpected type, although the client does not need this field.
type completion struct {
	Model   text         `json:"model"`
	Choices []choice     `json:"choices"`
	Usage   lenientUsage `json:"usage"`
}

type choice struct {
	Index        count        `json:"index"`
	Message      message      `json:"message"`
	FinishReason finishReason `json:"finish_reason"`
	// Native is the finish reason of the provider behind OpenRouter.
	Native finishReason `json:"native_finish_reason,omitempty"`
	// Usage is the usage in the responses of Kimi.
	Usage lenientUsage `json:"usage"`
}

type message struct {
	Role             text    `json:"role"`
	Content          spoken  `json:"content"`
	Refusal          text    `json:"refusal"`
	ReasoningContent text    `json:"reasoning_content"`
	Reasoning        text    `json:"reasoning,omitempty"`
	ToolCalls        calls   `json:"tool_calls,omitempty"`
	FunctionCall     *called `json:"function_call,omitempty"`
	// Audio is the spoken form of the reply. The client uses only its transcript.
	Audio endpoint.Optional[struct {
		Transcript text `json:"transcript"`
	}] `json:"audio"`
	carried
}

type call struct {
	// Index identifies the call in a stream.
	Index    *count `json:"index,omitempty"`
	ID       text   `json:"id"`
	Type     text   `json:"type"`
	Function called `json:"function"`
	carried
}

type called struct {
	Name      text `json:"name"`
	Arguments text `json:"arguments"`
}

type lenientUsage = endpoint.Optional[usage]

type usage struct {
	PromptTokens     count `json:"prompt_tokens"`
	CompletionTokens count `json:"completion_tokens"`
	TotalTokens      count `json:"total_tokens,omitempty"`
	PromptDetails    struct {
		CachedTokens     count `json:"cached_tokens"`
		CacheWriteTokens count `json:"cache_write_tokens,omitempty"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// CacheHitTokens is the number of cached tokens in the responses of DeepSeek.
	CacheHitTokens count `json:"prompt_cache_hit_tokens,omitempty"`
	// CachedTokens is the number of cached tokens in the responses of Kimi.
	CachedTokens count `json:"cached_tokens,omitempty"`
}

// first returns the choice with index 0, because endpoints may send the choices in any order. If no choice has index 0, it returns the
// first element. The completion must have a choice.
func (c completion) first() choice {
	for _, choice := range c.Choices {
		if choice.Index == 0 {
			return choice
		}
	}
	return c.Choices[0]
}

func (c completion) usage() llm.Usage {
	u := c.Usage.Value
	for _, choice := range c.Choices {
		u = cmp.Or(u, choice.Usage.Value)
	}
	// In the responses of xAI and Gemini, the completion tokens do not include the reasoning. Gemini does not report the reasoning
	// tokens separately.
	thought := u.CompletionDetails.ReasoningTokens
	if rest := u.TotalTokens - u.PromptTokens - u.CompletionTokens; rest > 0 && (thought == rest || thought == 0) {
		u.CompletionTokens, thought = u.CompletionTokens+rest, rest
	}
	return llm.Usage{
		InputTokens: int(u.PromptTokens), OutputTokens: int(u.CompletionTokens), ReasoningTokens: int(thought),
		CachedTokens:     int(cmp.Or(u.PromptDetails.CachedTokens, u.CacheHitTokens, u.CachedTokens)),
		CacheWriteTokens: int(u.PromptDetails.CacheWriteTokens),
	}.Bounded()
}

// said returns the text of the message: the content or, if there is none, the transcript of the audio.
func (m *message) said() text { return cmp.Or(m.Content.text, m.Audio.Value.Transcript) }

// refused returns the text with which the model refused.
func (m *message) refused() text { return cmp.Or(m.Refusal, m.Content.refusal) }

// thought returns the reasoning of the message, except reasoning that the model wrote into the content: package repair separates it.
func (m *message) thought() text {
	return cmp.Or(m.ReasoningContent, m.Reasoning, m.Content.thinking)
}

// calls returns the tool calls of the message. Old endpoints send one call in another field.
func (m *message) calls(family string) []llm.ToolCall {
	wire := m.ToolCalls
	if m.FunctionCall != nil && len(wire) == 0 {
		wire = calls{{Function: *m.FunctionCall}}
	}
	var all []llm.ToolCall
	for _, c := range wire {
		all = append(all, llm.ToolCall{ID: string(c.ID), Name: string(c.Function.Name), Arguments: string(c.Function.Arguments), Opaque: c.opaque(family)})
	}
	return all
}
