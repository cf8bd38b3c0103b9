package openai

import (
	"cmp"
	"strings"
)

// completion is a reply as endpoints send it: every field that is read, in a
// type that takes whatever is found there, and no field that is not read. The
// library's types fail the whole reply over a date that nobody looks at.
//
// Encoded again it is a reply in the form that the library takes.
type completion struct {
	Model   text     `json:"model"`
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

type choice struct {
	Index        count   `json:"index"`
	Message      message `json:"message"`
	FinishReason finish  `json:"finish_reason"`
}

type message struct {
	Role             text    `json:"role"`
	Content          spoken  `json:"content"`
	Refusal          text    `json:"refusal"`
	ReasoningContent text    `json:"reasoning_content"`
	Reasoning        text    `json:"reasoning,omitempty"`
	ToolCalls        []call  `json:"tool_calls,omitempty"`
	FunctionCall     *called `json:"function_call,omitempty"`
}

type call struct {
	// Index tells the calls of a stream apart.
	Index    *count `json:"index,omitempty"`
	ID       text   `json:"id"`
	Type     text   `json:"type"`
	Function called `json:"function"`
}

type called struct {
	Name      text `json:"name"`
	Arguments text `json:"arguments"`
}

type usage struct {
	PromptTokens     count `json:"prompt_tokens"`
	CompletionTokens count `json:"completion_tokens"`
	PromptDetails    struct {
		CachedTokens count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// CacheHitTokens is DeepSeek's place for the cached ones.
	CacheHitTokens count `json:"prompt_cache_hit_tokens,omitempty"`
}

// rewrite returns the reply in the form that the library reads.
func (reply completion) rewrite() ([]byte, error) {
	reply.Usage.PromptDetails.CachedTokens = cmp.Or(reply.Usage.PromptDetails.CachedTokens, reply.Usage.CacheHitTokens)
	for i := range reply.Choices {
		reply.Choices[i].Message.normalize()
	}
	return encode(reply)
}

// normalize brings what endpoints say in several places to the one place where the
// library looks for it.
func (m *message) normalize() {
	if m.FunctionCall != nil && len(m.ToolCalls) == 0 {
		m.ToolCalls = []call{{Function: *m.FunctionCall}}
	}
	m.FunctionCall = nil
	for i := range m.ToolCalls {
		m.ToolCalls[i].Type = "function"
	}

	thought, said := splitThinking(m.Content.text)
	m.Content.text = text(said)
	m.ReasoningContent = cmp.Or(m.ReasoningContent, m.Reasoning, m.Content.thinking, text(thought))
	m.Reasoning = ""
}

// splitThinking takes a think block off the front of a text: some endpoints
// leave the model's own mark-up in the answer.
func splitThinking(content text) (thought, said string) {
	rest, found := strings.CutPrefix(strings.TrimSpace(string(content)), "<think>")
	if !found {
		return "", string(content)
	}
	thought, said, found = strings.Cut(rest, "</think>")
	if !found {
		return "", string(content)
	}
	return strings.TrimSpace(thought), strings.TrimSpace(said)
}
