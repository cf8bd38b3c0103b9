package gateway

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/conversation"
	"github.com/reagent-dev/reagent/internal/clip"
)

// chatProjection makes a chat completion from the events of a section: the agent's own calls are reasoning, so that no client tries to run
// them.
type chatProjection struct {
	id, model string
	section   *section
	// emit sends a chunk of a stream; nil for a whole completion. usage adds a last chunk with the usage.
	emit  func(any)
	usage bool

	created int64
	// content and reasoning are the texts so far. held is text that is shown only if it turns out to be the answer.
	content, reasoning, held strings.Builder
	parted                   bool // the next text begins a paragraph
	calls                    []toolCall
	finished                 string
	spent                    *responseUsage
}

type toolCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatChoice struct {
	Index        int         `json:"index"`
	Message      *chatAnswer `json:"message,omitempty"`
	Delta        *chatDelta  `json:"delta,omitempty"`
	Logprobs     *struct{}   `json:"logprobs"`
	FinishReason *string     `json:"finish_reason"`
}

type chatAnswer struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type chatDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type chatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatUsage struct {
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	TotalTokens         int `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Cost any `json:"cost,omitempty"`
}

func (p *chatProjection) chatUsage() *chatUsage {
	u := &chatUsage{}
	if s := p.spent; s != nil {
		u.PromptTokens, u.CompletionTokens, u.TotalTokens = s.InputTokens, s.OutputTokens, s.TotalTokens
		u.PromptTokensDetails.CachedTokens = s.InputTokensDetails.CachedTokens
		u.CompletionTokensDetails.ReasoningTokens = s.OutputTokensDetails.ReasoningTokens
		if s.Cost != "" {
			u.Cost = s.Cost
		}
	}
	return u
}

func (p *chatProjection) begin() {
	if m := p.section.message; m != nil {
		p.created = m.Time / 1000
	}
	empty := ""
	p.chunk(chatDelta{Role: "assistant", Content: &empty})
}

func (p *chatProjection) chunk(d chatDelta) {
	if p.emit != nil {
		p.emit(chatCompletion{ID: p.id, Object: "chat.completion.chunk", Created: p.created, Model: p.model, Choices: []chatChoice{{Delta: &d}}})
	}
}

// structured reports whether the answer must fit a schema. Then the content is the answer alone.
func (p *chatProjection) structured() bool {
	return p.section.message != nil && len(p.section.message.Overrides.OutputSchema) > 0
}

func (p *chatProjection) see(e conversation.Event) {
	switch e.Kind {
	case conversation.Text:
		if p.structured() {
			p.held.WriteString(e.Text)
			return
		}
		p.say(e.Text)
	case conversation.Reply:
		p.held.Reset()
		p.parted = p.content.Len() > 0
	case conversation.Asked:
		if !p.section.clientTool(e.Call.Name) {
			p.think(e.Call.Name + " " + clip.Text(e.Call.Arguments, maxShown) + "\n")
		}
	case conversation.Waits:
		p.wait(e)
	case conversation.Result:
		if !p.section.clientTool(e.Call.Name) {
			p.think(e.Call.Name + " → " + clip.Text(e.Message.Content, maxShown) + "\n")
		}
	case conversation.Answer:
		if p.structured() && e.Reply != "" {
			p.say(p.held.String())
		}
		if p.spent = usageOf(e.Message.Spent); e.Message.FinishReason != "" {
			p.finished = "length"
		}
	case conversation.Correction:
		p.held.Reset()
		p.content.Reset()
	case conversation.Message, conversation.LateResult:
	}
}

// maxShown limits what is shown of the arguments and of the result of a call, in bytes.
const maxShown = 300

func (p *chatProjection) say(text string) {
	if p.parted {
		text = "\n\n" + text
		p.parted = false
	}
	p.content.WriteString(text)
	p.chunk(chatDelta{Content: &text})
}

func (p *chatProjection) think(text string) {
	p.reasoning.WriteString(text)
	p.chunk(chatDelta{Reasoning: text})
}

func (p *chatProjection) wait(e conversation.Event) {
	switch {
	case e.Wait.For == agent.WaitsForApproval:
		p.parted = p.content.Len() > 0
		p.say("The call " + e.Wait.Key.Handle() + " of the tool " + e.Call.Name + " needs your approval:\n\n    " + strings.ReplaceAll(e.Call.Arguments, "\n", "\n    ") +
			"\n\nAnswer yes to run it. With any other answer, it does not run, and the agent gets your words.")
	case e.Wait.For == agent.WaitsForAnswer:
		p.parted = p.content.Len() > 0
		p.say(question(e))
	case p.section.clientTool(e.Call.Name):
		call, index := toolCall{ID: string(e.Wait.Key), Type: "function"}, len(p.calls)
		call.Function.Name, call.Function.Arguments = e.Call.Name, cmp.Or(e.Call.Arguments, "{}")
		p.calls = append(p.calls, call)
		call.Index = &index
		p.chunk(chatDelta{ToolCalls: []toolCall{call}})
	}
}

// finish sends the end of a completion. The error says why there is none.
func (p *chatProjection) finish(o outcome) error {
	reason := cmp.Or(p.finished, "stop")
	switch o.ending {
	case waiting:
		if len(p.calls) > 0 {
			reason = "tool_calls"
		}
	case refused:
		p.say(o.reason)
		reason = "content_filter"
	case cut, cancelled:
		return &apiError{Status: http.StatusConflict, Type: typeServer, Code: "interrupted", Message: "the turn was interrupted before it was answered"}
	case failed, running:
		return &apiError{Status: http.StatusBadGateway, Type: typeServer, Code: cmp.Or(o.class, "failed"), Message: cmp.Or(o.reason, "the turn has failed")}
	case answered:
	}
	p.finished = reason
	if p.emit != nil {
		end := chatCompletion{ID: p.id, Object: "chat.completion.chunk", Created: p.created, Model: p.model, Choices: []chatChoice{{Delta: &chatDelta{}, FinishReason: &p.finished}}}
		p.emit(end)
		if p.usage {
			end.Choices, end.Usage = []chatChoice{}, p.chatUsage()
			p.emit(end)
		}
	}
	return nil
}

func (p *chatProjection) whole() chatCompletion {
	answer := chatAnswer{Role: "assistant", Reasoning: p.reasoning.String(), ToolCalls: p.calls}
	if text := p.content.String(); text != "" || len(p.calls) == 0 {
		answer.Content = &text
	}
	return chatCompletion{
		ID: p.id, Object: "chat.completion", Created: p.created, Model: p.model, Usage: p.chatUsage(),
		Choices: []chatChoice{{Message: &answer, FinishReason: &p.finished}},
	}
}
