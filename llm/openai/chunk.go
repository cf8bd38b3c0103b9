package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/finish"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// chunk is one event of a streamed reply. Like [completion], it accepts fields of unexpected types.
type chunk struct {
	Model   text          `json:"model"`
	Choices []chunkChoice `json:"choices"`
	Usage   lenientUsage  `json:"usage"`
	// Groq is the field in which the provider Groq sends the usage.
	Groq struct {
		Usage lenientUsage `json:"usage"`
	} `json:"x_groq"`
}

type chunkChoice struct {
	Index count    `json:"index"`
	Delta *message `json:"delta"`
	// Message is the whole message so far. Some endpoints send a complete reply in one event, with Message instead of `Delta`.
	// Other endpoints send both fields in each event.
	Message      *message     `json:"message"`
	FinishReason finishReason `json:"finish_reason"`
	// Native is the finish reason of the provider behind OpenRouter.
	Native finishReason `json:"native_finish_reason"`
	// Usage is the usage in the streams of Kimi.
	Usage lenientUsage `json:"usage"`
}

// assembly is a reply, as far as it has arrived. It is an [endpoint.Reply]. The stream reader of go-openai is not used: it does not
// distinguish a stream that was cut from one that ended, fails after a few hundred keep-alive comments in a row, and ignores errors in most
// formats.
type assembly struct {
	// tell is called with each delta, a part of the reply.
	tell func(llm.Delta)
	// tools are the tools that the request offers.
	tools []llm.ToolSpec
	// whole is the reply if it was not streamed.
	whole *completion

	model     text
	usage     lenientUsage
	finish    finishReason
	done      bool   // the event [DONE] ended a reply without a finish reason
	choice    *count // the index of the choice that is read; nil before the first choice
	content   strings.Builder
	reasoning strings.Builder
	refusal   strings.Builder
	calls     assembledCalls
	carrying  carrying
	// withText says that a part of the reply came together with the finish reason or after it. goesOn says that a part of the reply
	// came after the finish reason. Some endpoints send a finish reason in each event.
	withText, goesOn bool
	size             int // approximate memory that the reply needs, in bytes
}

// Whole reads a response that is not streamed.
func (a *assembly) Whole(response endpoint.Response) error {
	a.whole = &completion{}
	if err := json.Unmarshal(response.Body, a.whole); err != nil {
		return response.Bad(endpoint.Chat, err)
	}
	if len(a.whole.Choices) == 0 {
		return response.Foreign(endpoint.Chat)
	}
	return nil
}

// Spoke reports whether the stream so far contains text, reasoning, a refusal, a tool call or data of the provider.
func (a *assembly) Spoke() bool { return a.size > 0 }

// finished reports whether the reply is complete. A reply is complete when its finish reason or the event [DONE] has arrived.
func (a *assembly) finished() bool { return a.finish != "" || a.done }

// afterText is how long the client reads a stream after a finish reason that came together with text. Some endpoints send a finish
// reason with each part of the text, so more text may follow.
const afterText = 30 * time.Second

// Rest returns how long to read the rest of the stream. If an endpoint sends a finish reason in each event, the reply is complete only at
// the end of the stream.
func (a *assembly) Rest() time.Duration {
	switch {
	case !a.finished() || a.goesOn:
		return 0
	case a.withText:
		return afterText
	}
	return endpoint.AfterFinish
}

// Ended returns an error if the reply is not complete. If [DONE] ends a stream with no part of a reply, completion.reply makes the error.
func (a *assembly) Ended(marked bool) error {
	if a.finished() || marked && (!a.Spoke() || a.marked()) {
		return nil
	}
	return endpoint.LostError{Err: errors.New("the stream ended without a finish reason, so the reply is incomplete")}
}

// marked handles the event [DONE] in a stream without a finish reason. Some endpoints, such as proxies of Gemini, never send
// a finish reason. If the arguments of a call are not a JSON object, the reply may have been cut off, and marked returns
// false. Otherwise marked takes the reply as complete and returns true.
func (a *assembly) marked() bool {
	a.done = !slices.ContainsFunc(a.calls, func(c *assembledCall) bool { return !llm.IsObject(c.arguments.String()) })
	return a.done
}

// Take adds an event of the stream to the reply. It returns an error if the event is an error, belongs to another API, cannot be decoded,
// or makes the reply too large.
func (a *assembly) Take(response endpoint.Response, e endpoint.Event) error {
	response.Body, response.Failed = e.Data, e.Name == "error"
	if err := response.Failure(); err != nil {
		return err
	}
	var c chunk
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return response.Unread(e, err, "{[")
	}
	if len(c.Choices) == 0 && !a.Spoke() {
		if err := response.Foreign(endpoint.Chat); err != nil {
			return err
		}
	}
	return a.add(c)
}

// add adds the next event of the stream to the reply. It returns [endpoint.ErrTooLarge] if the reply has become too large.
func (a *assembly) add(c chunk) error {
	a.model = cmp.Or(a.model, c.Model)
	// Some endpoints send the usage so far in each event. The last usage with a count other than 0 is the usage of the whole
	// reply.
	all := []lenientUsage{c.Usage, c.Groq.Usage}
	for _, choice := range c.Choices {
		all = append(all, choice.Usage)
	}
	for _, u := range all {
		a.usage = cmp.Or(u, a.usage)
	}
	before, finished := a.size, a.finish != ""
	for _, choice := range c.Choices {
		// The request asks for one choice, but a response may have more. This loop reads the choice with index 0, or the first one
		// if none has index 0: see [completion.first].
		if a.choice == nil || choice.Index == 0 && *a.choice != 0 && !a.finished() {
			a.restart(choice.Index)
		}
		if *a.choice != choice.Index {
			continue
		}
		switch {
		case choice.Delta != nil:
			a.merge(choice.Delta)
		case choice.Message != nil && !a.Spoke():
			a.merge(choice.Message)
		}
		reason := choice.FinishReason.or(choice.Native)
		// Some endpoints send a finish reason in each event. Only the last one can say that the reply is incomplete.
		if reason != "" && reason != "null" && (a.finish == "" || finish.Class(string(reason)) != "") {
			a.finish = reason
		}
	}
	if a.size > before {
		a.withText, a.goesOn = a.finish != "", a.goesOn || finished
	}
	if a.tooLarge() {
		return endpoint.ErrTooLarge
	}
	return nil
}

// restart begins to read the choice with the given index. It discards what another choice has added to the reply. The size is not
// reset, because it also limits how much the client reads.
func (a *assembly) restart(index count) {
	a.choice = &index
	a.content.Reset()
	a.reasoning.Reset()
	a.refusal.Reset()
	a.calls, a.carrying = nil, carrying{}
}

// merge adds `m`, a part of the message, to the reply. It calls [assembly.tell] with each delta in `m`.
func (a *assembly) merge(m *message) {
	thought := string(m.thought())
	if thought != "" {
		a.reasoning.WriteString(thought)
		a.tell(llm.Delta{Reasoning: thought})
	}
	said := string(m.said())
	if said != "" {
		a.content.WriteString(said)
		a.tell(llm.Delta{Text: said})
	}
	refused := string(m.refused())
	a.refusal.WriteString(refused)
	a.carrying.add(m.carried)
	a.size += len(thought) + len(said) + len(refused) + m.size()

	if m.FunctionCall != nil && len(m.ToolCalls) == 0 {
		first := count(0)
		m.ToolCalls = calls{{Index: &first, Function: *m.FunctionCall}}
	}
	for i, piece := range m.ToolCalls {
		told := a.calls.add(piece, i, len(m.ToolCalls), a.tools)
		// Even an empty delta may need memory for a new call.
		a.size += 64 + len(piece.Function.Name) + len(piece.Function.Arguments) + piece.size()
		if told.Name != "" || told.Arguments != "" {
			a.tell(llm.Delta{ToolCall: &told})
		}
		if a.tooLarge() {
			return
		}
	}
}

// maxCalls is the maximum number of calls in a streamed reply. The time to find the call of a delta grows with the number of calls.
const maxCalls = 10_000

func (a *assembly) tooLarge() bool { return a.size > endpoint.MaxReply || len(a.calls) > maxCalls }

// completion returns the assembled reply in the form of a response that is not streamed. If the reply is not complete, the
// list of choices in the response is empty.
func (a *assembly) completion() completion {
	if a.whole != nil {
		return *a.whole
	}
	whole := completion{Model: a.model, Usage: a.usage}
	if !a.finished() {
		return whole
	}
	whole.Choices = []choice{{FinishReason: a.finish, Message: message{
		Role:             "assistant",
		Content:          spoken{text: text(a.content.String())},
		Refusal:          text(a.refusal.String()),
		ReasoningContent: text(a.reasoning.String()),
		ToolCalls:        a.calls.whole(),
		carried:          a.carrying.carried(),
	}}}
	return whole
}
