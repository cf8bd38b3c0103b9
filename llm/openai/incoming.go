package openai

import (
	"cmp"

	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// completion is the body of a response that contains a reply. It has only the fields that the client needs, and the types of
// its fields accept any JSON value. The types of go-openai are stricter. For example, they cannot decode a response whose
// field "created" has an unexpected type, although the client does not need this field.
//
// [completion.rewrite] returns the body in a form that go-openai can decode.
type completion struct {
	Model   text     `json:"model"`
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

type choice struct {
	Index        count   `json:"index"`
	Message      message `json:"message"`
	FinishReason finish  `json:"finish_reason"`
	// Native is the finish reason of the provider behind OpenRouter.
	Native finish `json:"native_finish_reason,omitempty"`
	// Usage is the usage in the responses of Kimi.
	Usage *usage `json:"usage,omitempty"`
}

type message struct {
	Role             text    `json:"role"`
	Content          spoken  `json:"content"`
	Refusal          text    `json:"refusal"`
	ReasoningContent text    `json:"reasoning_content"`
	Reasoning        text    `json:"reasoning,omitempty"`
	Audio            audio   `json:"audio,omitzero"`
	ToolCalls        calls   `json:"tool_calls,omitempty"`
	FunctionCall     *called `json:"function_call,omitempty"`
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

// normalize moves counts to the fields that go-openai reads.
func (u *usage) normalize() {
	cached := &u.PromptDetails.CachedTokens
	*cached = cmp.Or(*cached, u.CacheHitTokens, u.CachedTokens)
	// In the responses of xAI and Gemini, the completion tokens do not include the reasoning. Gemini does not report the reasoning
	// tokens separately.
	thought := &u.CompletionDetails.ReasoningTokens
	if rest := u.TotalTokens - u.PromptTokens - u.CompletionTokens; rest > 0 && (*thought == rest || *thought == 0) {
		u.CompletionTokens, *thought = u.CompletionTokens+rest, rest
	}
}

// rewrite returns the reply as JSON that go-openai can decode.
func (reply completion) rewrite() ([]byte, error) {
	for _, c := range reply.Choices {
		if reply.Usage == (usage{}) && c.Usage != nil {
			reply.Usage = *c.Usage
		}
	}
	reply.Usage.normalize()
	for i := range reply.Choices {
		reply.Choices[i].Message.normalize()
		reply.Choices[i].FinishReason = reply.Choices[i].FinishReason.or(reply.Choices[i].Native)
	}
	return endpoint.Encode(reply)
}

// normalize moves values to the fields that go-openai reads. Some endpoints send these values in other fields. For example,
// they send the reasoning within the content.
func (m *message) normalize() {
	if m.FunctionCall != nil && len(m.ToolCalls) == 0 {
		m.ToolCalls = calls{{Function: *m.FunctionCall}}
	}
	m.FunctionCall = nil
	for i := range m.ToolCalls {
		m.ToolCalls[i].Type = "function"
	}

	m.Content.text, m.Audio = m.said(), audio{}
	m.ReasoningContent, m.Reasoning = m.thought(), ""
}

// said returns the text of the message: the content or, if there is none, the transcript of the audio.
func (m *message) said() text { return cmp.Or(m.Content.text, m.Audio.Transcript) }

// thought returns the reasoning of the message, except reasoning that the model wrote into the content: package repair separates it.
func (m *message) thought() text {
	return cmp.Or(m.ReasoningContent, m.Reasoning, m.Content.thinking)
}
