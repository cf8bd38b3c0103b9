package gateway

import (
	"cmp"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/conversation"
)

// response is a response of OpenAI's Responses API. All its fields come from the record of the agent, so they are the same on every replica.
type response struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	CreatedAt          int64             `json:"created_at"`
	CompletedAt        *int64            `json:"completed_at"`
	Status             string            `json:"status"`
	Error              *responseError    `json:"error"`
	IncompleteDetails  *incomplete       `json:"incomplete_details"`
	Instructions       *string           `json:"instructions"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	MaxToolCalls       *int              `json:"max_tool_calls"`
	Model              string            `json:"model"`
	Output             []any             `json:"output"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	PreviousResponseID *string           `json:"previous_response_id"`
	PromptCacheKey     *string           `json:"prompt_cache_key"`
	Reasoning          reasoningOptions  `json:"reasoning"`
	SafetyIdentifier   *string           `json:"safety_identifier"`
	ServiceTier        string            `json:"service_tier"`
	Store              bool              `json:"store"`
	Temperature        float64           `json:"temperature"`
	Text               textOptions       `json:"text"`
	ToolChoice         string            `json:"tool_choice"`
	Tools              []functionTool    `json:"tools"`
	TopLogprobs        int               `json:"top_logprobs"`
	TopP               float64           `json:"top_p"`
	PresencePenalty    float64           `json:"presence_penalty"`
	FrequencyPenalty   float64           `json:"frequency_penalty"`
	Truncation         string            `json:"truncation"`
	Usage              *responseUsage    `json:"usage"`
	User               *string           `json:"user"`
	Metadata           map[string]string `json:"metadata"`
	Background         bool              `json:"background"`
	Conversation       conversationRef   `json:"conversation"`
}

type (
	responseError struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	incomplete struct {
		Reason string `json:"reason"`
	}
	reasoningOptions struct {
		Effort  *string `json:"effort"`
		Summary *string `json:"summary"`
	}
	textOptions struct {
		Format textFormat `json:"format"`
	}
	textFormat struct {
		Type   string          `json:"type"`
		Name   string          `json:"name,omitempty"`
		Schema json.RawMessage `json:"schema,omitempty"`
		Strict bool            `json:"strict,omitempty"`
	}
	functionTool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	}
	conversationRef struct {
		ID string `json:"id"`
	}
	responseUsage struct {
		InputTokens        int `json:"input_tokens"`
		InputTokensDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		OutputTokens        int `json:"output_tokens"`
		OutputTokensDetails struct {
			ReasoningTokens int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
		TotalTokens int `json:"total_tokens"`
		// Cost is the cost of the turn in US dollars, which OpenAI's API does not have.
		Cost json.Number `json:"cost,omitempty"`
	}
)

// The items of a response.
type (
	messageItem struct {
		ID      string     `json:"id"`
		Type    string     `json:"type"`
		Status  string     `json:"status"`
		Role    string     `json:"role"`
		Phase   string     `json:"phase,omitempty"`
		Content []textPart `json:"content"`
	}
	textPart struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Annotations []any  `json:"annotations"`
		Logprobs    []any  `json:"logprobs"`
	}
	mcpCallItem struct {
		ID                string  `json:"id"`
		Type              string  `json:"type"`
		Status            string  `json:"status"`
		ServerLabel       string  `json:"server_label"`
		Name              string  `json:"name"`
		Arguments         string  `json:"arguments"`
		Output            *string `json:"output"`
		Error             *string `json:"error"`
		ApprovalRequestID *string `json:"approval_request_id"`
	}
	approvalItem struct {
		ID          string `json:"id"`
		Type        string `json:"type"`
		ServerLabel string `json:"server_label"`
		Name        string `json:"name"`
		Arguments   string `json:"arguments"`
	}
	functionCallItem struct {
		ID        string `json:"id"`
		Type      string `json:"type"`
		Status    string `json:"status"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
)

// serverLabel names the agent itself where OpenAI's API names an MCP server.
const serverLabel = "agent"

// newResponse returns the response that a section is, without its output.
func newResponse(ref responseRef, s *section, agentName string) *response {
	r := &response{
		ID: ref.id(), Object: "response", Status: "in_progress", Model: agentName, Output: []any{}, ParallelToolCalls: true, ServiceTier: "default",
		Store: true, Temperature: 1, TopP: 1, Text: textOptions{textFormat{Type: "text"}}, ToolChoice: "auto", Tools: []functionTool{}, Truncation: "disabled",
		Metadata: map[string]string{}, Conversation: conversationRef{conversationID(ref.Agent)},
	}
	m := s.message
	if m == nil {
		return r
	}
	r.CreatedAt = m.Time / 1000
	if o := m.Overrides; o.Instructions != "" {
		r.Instructions = &o.Instructions
	}
	for _, t := range m.Overrides.ClientTools {
		r.Tools = append(r.Tools, functionTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	if schema := m.Overrides.OutputSchema; len(schema) > 0 {
		r.Text.Format = textFormat{Type: "json_schema", Name: cmp.Or(m.Metadata[metadataSchemaName], "answer"), Schema: schema, Strict: true}
	}
	if s.previous != nil && (m.Metadata[metadataPrevious] != "" || s.from.Reply != "") {
		id := responseRef{Agent: ref.Agent, start: *s.previous}.id()
		r.PreviousResponseID = &id
	}
	r.Background = m.Metadata[metadataBackground] != ""
	maps.Copy(r.Metadata, publicMetadata(m.Metadata))
	return r
}

// usageOf returns the tokens and the cost of the turn that ended with an answer.
func usageOf(spent agent.Spending) *responseUsage {
	u := &responseUsage{InputTokens: spent.InputTokens, OutputTokens: spent.OutputTokens, TotalTokens: spent.Tokens()}
	u.InputTokensDetails.CachedTokens = spent.CachedTokens
	u.OutputTokensDetails.ReasoningTokens = spent.ReasoningTokens
	if spent.Cost > 0 {
		u.Cost = json.Number(strconv.FormatFloat(spent.Cost.Dollars(), 'f', -1, 64))
	}
	return u
}

// streamEvent is an event of a stream. Its name is the field Type.
type streamEvent map[string]any

// projection makes the stream of a response from the events of its section, and the response itself. The n-th event of the stream follows
// from the section alone.
type projection struct {
	ref      responseRef
	agent    string
	response *response // nil before the beginning of the section was read
	section  *section
	emit     func(streamEvent)
	number   int // of the next event

	text *messageItem // the message that is being written
}

func newProjection(ref responseRef, agentName string, s *section, emit func(streamEvent)) *projection {
	return &projection{ref: ref, agent: agentName, section: s, emit: emit}
}

func (p *projection) send(kind string, fields streamEvent) {
	fields["type"], fields["sequence_number"] = kind, p.number
	p.number++
	if p.emit != nil {
		p.emit(fields)
	}
}

// begin sends the events before the first item.
func (p *projection) begin() {
	p.response = newResponse(p.ref, p.section, p.agent)
	for _, kind := range []string{"response.created", "response.in_progress"} {
		p.send(kind, streamEvent{"response": *p.response})
	}
}

func (p *projection) index() int { return len(p.response.Output) }

// see reads the next event of the section.
func (p *projection) see(e conversation.Event) {
	switch e.Kind {
	case conversation.Text:
		p.write(e)
	case conversation.Reply:
		p.closeText("commentary")
	case conversation.Waits:
		p.wait(e)
	case conversation.Result:
		if !p.section.clientTool(e.Call.Name) {
			p.result(e)
		}
	case conversation.Answer:
		p.closeText("final_answer")
		p.answer(e)
	case conversation.Message, conversation.Asked, conversation.LateResult, conversation.Correction:
	}
}

func (p *projection) write(e conversation.Event) {
	if p.text == nil {
		p.text = &messageItem{ID: p.ref.itemID("msg_", string(e.Reply)), Type: "message", Status: "in_progress", Role: "assistant", Content: []textPart{}}
		if e.Reply == "" {
			p.text.ID = p.ref.itemID("msg_", "notice-"+strconv.Itoa(e.Position.Message))
		}
		p.send("response.output_item.added", streamEvent{"output_index": p.index(), "item": *p.text})
		p.send("response.content_part.added", streamEvent{"item_id": p.text.ID, "output_index": p.index(), "content_index": 0, "part": part("")})
		p.text.Content = []textPart{part("")}
	}
	p.text.Content[0].Text += e.Text
	p.send("response.output_text.delta", streamEvent{"item_id": p.text.ID, "output_index": p.index(), "content_index": 0, "delta": e.Text, "logprobs": []any{}})
}

func part(text string) textPart {
	return textPart{Type: "output_text", Text: text, Annotations: []any{}, Logprobs: []any{}}
}

func (p *projection) closeText(phase string) {
	if p.text == nil {
		return
	}
	m, place := *p.text, streamEvent{"item_id": p.text.ID, "output_index": p.index(), "content_index": 0}
	m.Status, m.Phase, p.text = "completed", phase, nil
	done := maps.Clone(place)
	done["text"], done["logprobs"] = m.Content[0].Text, []any{}
	p.send("response.output_text.done", done)
	place["part"] = m.Content[0]
	p.send("response.content_part.done", place)
	p.add(m)
}

// add sends the end of an item, and adds it to the output.
func (p *projection) add(item any) {
	p.send("response.output_item.done", streamEvent{"output_index": p.index(), "item": item})
	p.response.Output = append(p.response.Output, item)
}

// whole sends an item that has no parts, and adds it to the output.
func (p *projection) whole(item any) {
	p.send("response.output_item.added", streamEvent{"output_index": p.index(), "item": item})
	p.add(item)
}

func (p *projection) wait(e conversation.Event) {
	switch {
	case e.Wait.For == agent.WaitsForApproval:
		p.whole(approvalItem{ID: approvalID(e.Wait.Key), Type: "mcp_approval_request", ServerLabel: serverLabel, Name: e.Call.Name, Arguments: e.Call.Arguments})
	case e.Wait.For == agent.WaitsForAnswer:
		for piece := range conversation.Pieces(question(e)) {
			p.write(conversation.Event{Reply: e.Wait.Key, Text: piece})
		}
		p.closeText("final_answer")
	case p.section.clientTool(e.Call.Name):
		key := string(e.Wait.Key)
		item := functionCallItem{ID: p.ref.itemID("fc_", key), Type: "function_call", Status: "in_progress", CallID: p.ref.itemID("call_", key), Name: e.Call.Name}
		p.send("response.output_item.added", streamEvent{"output_index": p.index(), "item": item})
		place := streamEvent{"item_id": item.ID, "output_index": p.index()}
		delta := maps.Clone(place)
		delta["delta"] = e.Call.Arguments
		p.send("response.function_call_arguments.delta", delta)
		place["arguments"], place["name"] = e.Call.Arguments, e.Call.Name
		p.send("response.function_call_arguments.done", place)
		item.Status, item.Arguments = "completed", e.Call.Arguments
		p.add(item)
	}
}

const approvalPrefix = "mcpr_"

func approvalID(key agent.Key) string { return approvalPrefix + string(key) }

func (p *projection) result(e conversation.Event) {
	m := e.Message
	item := mcpCallItem{
		ID: p.ref.itemID("mcp_", string(e.Call.Reply)+"-"+strconv.Itoa(e.Call.Index)), Type: "mcp_call", Status: "in_progress", ServerLabel: serverLabel,
		Name: e.Call.Name, Arguments: e.Call.Arguments,
	}
	for _, w := range m.Waited {
		if w.For == agent.WaitsForApproval {
			id := approvalID(w.Key)
			item.ApprovalRequestID = &id
		}
	}
	place := func() streamEvent { return streamEvent{"item_id": item.ID, "output_index": p.index()} }
	added := item
	added.Arguments = ""
	p.send("response.output_item.added", streamEvent{"output_index": p.index(), "item": added})
	p.send("response.mcp_call.in_progress", place())
	arguments := place()
	arguments["arguments"] = item.Arguments
	p.send("response.mcp_call_arguments.done", arguments)
	if m.Result.IsError() {
		item.Status, item.Error = "failed", &m.Content
		p.send("response.mcp_call.failed", place())
	} else {
		item.Status, item.Output = "completed", &m.Content
		p.send("response.mcp_call.completed", place())
	}
	p.add(item)
}

func (p *projection) answer(e conversation.Event) {
	p.response.Usage = usageOf(e.Message.Spent)
	at := e.Message.Time / 1000
	p.response.CompletedAt = &at
	if e.Message.FinishReason != "" {
		p.response.IncompleteDetails = &incomplete{Reason: "max_output_tokens"}
	}
}

// finish sets the status of the response, and sends the last event, unless the section still runs.
func (p *projection) finish(o outcome) {
	kind := ""
	switch o.ending {
	case running:
		return
	case answered:
		p.response.Status, kind = "completed", "response.completed"
		if p.response.IncompleteDetails != nil {
			p.response.Status, kind = "incomplete", "response.incomplete"
		}
	case waiting:
		p.response.Status, kind = "completed", "response.completed"
	case cut, cancelled:
		p.closeLost()
		p.response.Status, kind = "cancelled", "response.failed"
		p.response.Error = &responseError{Code: "server_error", Message: cmp.Or(o.reason, "the turn was interrupted")}
	case refused:
		p.response.Status, kind = "incomplete", "response.incomplete"
		p.response.IncompleteDetails = &incomplete{Reason: "content_filter"}
	case failed:
		p.closeLost()
		p.response.Status, kind = "failed", "response.failed"
		p.response.Error = &responseError{Code: "server_error", Message: cmp.Or(o.reason, "the turn has failed")}
	}
	p.send(kind, streamEvent{"response": *p.response})
}

// closeLost puts the message that is being written into the output as it is, because no more follows.
func (p *projection) closeLost() {
	if p.text == nil {
		return
	}
	p.text.Status = "incomplete"
	p.add(*p.text)
	p.text = nil
}

// question returns the text of a question to a person.
func question(e conversation.Event) string {
	var asked struct {
		Question string   `json:"question"`
		Choices  []string `json:"choices"`
	}
	if e.Call.Name != agent.AskUser || decodeForeign([]byte(e.Call.Arguments), &asked) != nil || asked.Question == "" {
		return "The tool " + e.Call.Name + " asks a question. Open the agent to read it, or answer here."
	}
	return strings.Join(append([]string{asked.Question}, asked.Choices...), "\n- ")
}
