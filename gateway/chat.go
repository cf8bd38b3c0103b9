package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/gateway/access"
)

// chatRequest has the parameters of POST /v1/chat/completions that an agent takes. The others are ignored, except those that
// [chatRequest.check] refuses.
type chatRequest struct {
	Model         string          `json:"model"`
	Messages      []chatMessage   `json:"messages"`
	Stream        bool            `json:"stream"`
	StreamOptions *streamOptions  `json:"stream_options"`
	Tools         []requestTool   `json:"tools"`
	Format        *responseFormat `json:"response_format"`
	Metadata      agent.Metadata  `json:"metadata"`
	N             *int            `json:"n"`
	Logprobs      bool            `json:"logprobs"`
	Modalities    []string        `json:"modalities"`
	Functions     json.RawMessage `json:"functions"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    content         `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  json.RawMessage `json:"tool_calls"`
}

func (r *chatRequest) check() error {
	switch {
	case len(r.Messages) == 0:
		return invalid("messages", "the field messages is empty; send at least one message of the user")
	case r.N != nil && *r.N != 1:
		return unsupported("n", "an agent gives one answer; leave n out, or set it to 1")
	case r.Logprobs:
		return unsupported("logprobs", "an agent has no log probabilities; leave logprobs out")
	case len(r.Functions) > 0 && !bytes.Equal(bytes.TrimSpace(r.Functions), []byte("null")):
		return unsupported("functions", "functions were replaced by tools; use tools")
	}
	for _, m := range r.Modalities {
		if m != "text" {
			return unsupported("modalities", "an agent answers with text only")
		}
	}
	return nil
}

// turn is what a user has said in a chat, up to the next message of the assistant. Messages of the user that follow each other are one.
type turn struct {
	text   string
	images []string
	// results are the results of client tools that come before the text. answered is what the assistant has said to the turn.
	results  []settled
	answered string
}

// chat is the conversation that a request sends.
type chat struct {
	instructions string
	turns        []turn
}

// read reads the messages of a request.
func (r *chatRequest) read() (c chat, err error) {
	after := true // the next message of the user begins a turn
	add := func() *turn {
		if after {
			c.turns = append(c.turns, turn{})
			after = false
		}
		return &c.turns[len(c.turns)-1]
	}
	for i, m := range r.Messages {
		param := fmt.Sprintf("messages[%d]", i)
		switch m.Role {
		case "system", "developer":
			c.instructions = joined(c.instructions, m.Content.text())
		case "user":
			images, err := m.Content.images(param)
			if err != nil {
				return c, err
			}
			t := add()
			t.text, t.images = joined(t.text, m.Content.text()), append(t.images, images...)
		case "tool":
			if m.ToolCallID == "" {
				return c, invalid(param+".tool_call_id", "a tool message needs the field tool_call_id")
			}
			t := add()
			t.results = append(t.results, settled{agent.Key(m.ToolCallID), agent.Decision{Result: &agent.GivenResult{Content: m.Content.text()}}})
		case "assistant":
			if len(c.turns) == 0 {
				c.instructions = joined(c.instructions, begunByAssistant+m.Content.text())
				continue
			}
			last := &c.turns[len(c.turns)-1]
			last.answered = joined(last.answered, m.Content.text())
			after = true
		default:
			return c, invalid(param+".role", "the role must be user, assistant, system, developer or tool, and not "+quoted(m.Role))
		}
	}
	if unsettled := openCalls(r.Messages); unsettled != "" {
		return c, invalid("messages", "the tool call "+quoted(unsettled)+" has no tool message after it; send one for each tool call")
	}
	if len(c.turns) == 0 || after {
		return c, invalid("messages", "the last message must be one of the user, or a tool message")
	}
	return c, nil
}

// openCalls returns the ID of a tool call without a tool message; "" if there is none.
func openCalls(messages []chatMessage) string {
	open := map[string]bool{}
	var asked []string
	for _, m := range messages {
		var calls []struct {
			ID string `json:"id"`
		}
		if m.Role == "assistant" && len(m.ToolCalls) > 0 && decodeForeign(m.ToolCalls, &calls) == nil {
			for _, c := range calls {
				open[c.ID] = true
				asked = append(asked, c.ID)
			}
		}
		delete(open, m.ToolCallID)
	}
	for _, id := range asked {
		if open[id] {
			return id
		}
	}
	return ""
}

// whole returns the text of a message that begins a conversation. What was said before stands before it, because the agent does not know it.
func (c chat) whole() string {
	last := len(c.turns) - 1
	if last == 0 {
		return c.turns[0].text
	}
	text := "The conversation so far:\n\n"
	for _, t := range c.turns[:last] {
		text = joined(text+"User: "+t.text, prefixed("Assistant: ", t.answered)) + "\n\n"
	}
	return text + "User: " + c.turns[last].text
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func (g *Gateway) chatCompletion(w http.ResponseWriter, req *http.Request) error {
	var r chatRequest
	if err := readRequest(req, &r); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	c, err := r.read()
	if err != nil {
		return err
	}
	a, model, err := g.agentNamed(req.Context(), r.Model)
	if err != nil {
		return err
	}
	m, err := r.message(req, c)
	if err != nil {
		return err
	}
	m.PartialText = r.Stream && !g.hold
	m.Overrides.Model = model
	ref, err := g.speak(req, a, c, m)
	if err != nil {
		return err
	}
	return g.completeChat(w, req, &r, ref, a.Name)
}

// message returns the message for the last turn of the request, without its ID.
func (r *chatRequest) message(req *http.Request, c chat) (client.Message, error) {
	last := c.turns[len(c.turns)-1]
	m := client.Message{Text: last.text, Images: last.images, By: access.FromContext(req.Context()).Name, Metadata: r.Metadata}
	if err := checkMetadata(r.Metadata); err != nil {
		return m, err
	}
	var err error
	if m.Overrides.ClientTools, err = clientTools(r.Tools); err != nil {
		return m, err
	}
	if m.Overrides.OutputSchema, _, err = formatOf("response_format", r.Format); err != nil {
		return m, err
	}
	m.Overrides.Instructions = c.instructions
	return m, nil
}

// completeChat answers a request with the section that begins at `ref`.
func (g *Gateway) completeChat(w http.ResponseWriter, req *http.Request, r *chatRequest, ref responseRef, agentName string) error {
	s := &section{from: ref.start}
	p := &chatProjection{id: "chatcmpl-" + strings.TrimPrefix(ref.id(), responsePrefix), model: agentName, section: s}
	if !r.Stream {
		o, err := g.follow(req.Context(), ref.Agent, s, true, p)
		if err != nil {
			g.hungUp(req.Context(), ref.Agent)
			return err
		}
		if err := p.finish(o); err != nil {
			return err
		}
		writeJSON(w, http.StatusOK, p.whole())
		return nil
	}
	out := newStream(w, g.ping)
	defer out.end()
	p.emit = func(v any) { out.event("", v) }
	p.usage = r.StreamOptions != nil && r.StreamOptions.IncludeUsage
	o, err := g.follow(req.Context(), ref.Agent, s, true, p)
	if req.Context().Err() != nil {
		g.hungUp(req.Context(), ref.Agent)
		return nil
	}
	if err == nil {
		err = p.finish(o)
	}
	if err != nil {
		out.event("", map[string]any{"error": apiErrorOf(err)})
	}
	return nil
}

// approves reports whether a person has said yes. Everything else is a no, because nothing is done without a yes.
func approves(text string) bool {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(text), ".!")) {
	case "yes", "y", "ok", "okay", "approve", "approved", "allow", "yes, please", "yes please":
		return true
	}
	return false
}
