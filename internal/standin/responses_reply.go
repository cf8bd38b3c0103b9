package standin

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

type outputMessage struct {
	ID      string       `json:"id"`
	Type    string       `json:"type"`
	Status  string       `json:"status"`
	Role    string       `json:"role"`
	Content []outputPart `json:"content"`
}

type outputPart struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"`
}

type outputCall struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type outputReasoning struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`
	Summary   []summaryPart `json:"summary"`
	Encrypted string        `json:"encrypted_content"`
}

type summaryPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// outputOf returns the items of a message: the reasoning, the text, the calls.
func outputOf(m llm.Message) []any {
	items := []any{}
	if m.Reasoning != "" {
		id := "rs_" + hash(m.Reasoning)
		items = append(items, outputReasoning{id, "reasoning", []summaryPart{{"summary_text", m.Reasoning}}, encrypt(id, m.Reasoning)})
	}
	if m.Content != "" {
		items = append(items, outputMessage{"msg_" + hash(m.Content), "message", "completed", "assistant",
			[]outputPart{{"output_text", m.Content, []string{}}}})
	}
	for i, call := range m.ToolCalls {
		items = append(items, outputCall{fmt.Sprintf("fc_%s_%d", hash(call.ID), i), "function_call", "completed", call.ID, call.Name, call.Arguments})
	}
	return items
}

// encrypt returns the encrypted content of an item of reasoning. The content is not really encrypted, but [decrypts] notices
// every change.
func encrypt(id, text string) string {
	return base64.URLEncoding.EncodeToString([]byte(hash(id+text) + text))
}

// decrypts reports whether [encrypt] has made `content` for the item with the given ID. If the ID is empty, it is not checked.
func decrypts(id, content string) bool {
	decoded, err := base64.URLEncoding.DecodeString(content)
	sum := len(hash(""))
	if err != nil || len(decoded) < sum {
		return false
	}
	text := string(decoded[sum:])
	own := "rs_" + hash(text)
	return (id == "" || id == own) && content == encrypt(own, text)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// partialEvent is an event about one item of a streamed response.
type partialEvent struct {
	Type         string  `json:"type"`
	Sequence     int     `json:"sequence_number"`
	OutputIndex  int     `json:"output_index"`
	ItemID       string  `json:"item_id,omitempty"`
	ContentIndex *int    `json:"content_index,omitempty"`
	SummaryIndex *int    `json:"summary_index,omitempty"`
	Item         any     `json:"item,omitempty"`
	Part         any     `json:"part,omitempty"`
	Delta        *string `json:"delta,omitempty"`
	Text         *string `json:"text,omitempty"`
	Arguments    *string `json:"arguments,omitempty"`
}

type wholeEvent struct {
	Type     string   `json:"type"`
	Sequence int      `json:"sequence_number"`
	Response response `json:"response"`
}

// responseEvents converts a response into the events of a stream. `cut` divides the texts into parts. If the cutter has a random
// source, the events of different function calls are mixed.
func responseEvents(whole response, cut cutter) []event {
	begun := whole
	begun.Status, begun.Output, begun.Usage, begun.Incomplete = "in_progress", []any{}, nil, nil
	all := []any{wholeEvent{Type: "response.created", Response: begun}, wholeEvent{Type: "response.in_progress", Response: begun}}
	var calls [][]any
	for i, item := range whole.Output {
		if call, ok := item.(outputCall); ok {
			calls = append(calls, callEvents(i, call, cut))
			continue
		}
		all = append(all, textEvents(i, item, cut)...)
	}
	all = append(all, interleave(cut, calls)...)
	all = append(all, wholeEvent{Type: "response." + whole.Status, Response: whole})
	var events []event
	for i, e := range all {
		switch e := e.(type) {
		case partialEvent:
			e.Sequence = i
			events = append(events, event{e.Type, compact(e)})
		case wholeEvent:
			e.Sequence = i
			events = append(events, event{e.Type, compact(e)})
		}
	}
	return events
}

// textEvents returns the events of a message or of reasoning. `i` is the index of the item.
func textEvents(i int, item any, cut cutter) []any {
	zero := 0
	switch item := item.(type) {
	case outputMessage:
		text, begun := item.Content[0].Text, item
		begun.Status, begun.Content = "in_progress", []outputPart{}
		all := []any{
			partialEvent{Type: "response.output_item.added", OutputIndex: i, Item: begun},
			partialEvent{Type: "response.content_part.added", OutputIndex: i, ItemID: item.ID, ContentIndex: &zero, Part: outputPart{"output_text", "", []string{}}},
		}
		for _, piece := range cut.pieces(text) {
			all = append(all, partialEvent{Type: "response.output_text.delta", OutputIndex: i, ItemID: item.ID, ContentIndex: &zero, Delta: &piece})
		}
		return append(all,
			partialEvent{Type: "response.output_text.done", OutputIndex: i, ItemID: item.ID, ContentIndex: &zero, Text: &text},
			partialEvent{Type: "response.content_part.done", OutputIndex: i, ItemID: item.ID, ContentIndex: &zero, Part: item.Content[0]},
			partialEvent{Type: "response.output_item.done", OutputIndex: i, Item: item},
		)
	case outputReasoning:
		text, begun := item.Summary[0].Text, item
		begun.Summary = []summaryPart{}
		all := []any{
			partialEvent{Type: "response.output_item.added", OutputIndex: i, Item: begun},
			partialEvent{Type: "response.reasoning_summary_part.added", OutputIndex: i, ItemID: item.ID, SummaryIndex: &zero, Part: summaryPart{"summary_text", ""}},
		}
		for _, piece := range cut.pieces(text) {
			all = append(all, partialEvent{Type: "response.reasoning_summary_text.delta", OutputIndex: i, ItemID: item.ID, SummaryIndex: &zero, Delta: &piece})
		}
		return append(all,
			partialEvent{Type: "response.reasoning_summary_text.done", OutputIndex: i, ItemID: item.ID, SummaryIndex: &zero, Text: &text},
			partialEvent{Type: "response.reasoning_summary_part.done", OutputIndex: i, ItemID: item.ID, SummaryIndex: &zero, Part: item.Summary[0]},
			partialEvent{Type: "response.output_item.done", OutputIndex: i, Item: item},
		)
	}
	return nil
}

// callEvents returns the events of a function call. `i` is the index of the item.
func callEvents(i int, item outputCall, cut cutter) []any {
	begun := item
	begun.Status, begun.Arguments = "in_progress", ""
	all := []any{partialEvent{Type: "response.output_item.added", OutputIndex: i, Item: begun}}
	for _, piece := range cut.pieces(item.Arguments) {
		all = append(all, partialEvent{Type: "response.function_call_arguments.delta", OutputIndex: i, ItemID: item.ID, Delta: &piece})
	}
	return append(all,
		partialEvent{Type: "response.function_call_arguments.done", OutputIndex: i, ItemID: item.ID, Arguments: &item.Arguments},
		partialEvent{Type: "response.output_item.done", OutputIndex: i, Item: item},
	)
}

// interleave merges lists into one, as [cutter.mix] does. Each list keeps its order.
func interleave(cut cutter, lists [][]any) []any {
	var all []any
	for len(lists) > 0 {
		at := 0
		if cut.random != nil {
			at = cut.random.IntN(len(lists))
		}
		all = append(all, lists[at][0])
		if lists[at] = lists[at][1:]; len(lists[at]) == 0 {
			lists = append(lists[:at:at], lists[at+1:]...)
		}
	}
	return all
}

func joined(parts []responsesPart) string {
	var all strings.Builder
	for _, p := range parts {
		if p.Text != nil {
			all.WriteString(*p.Text)
		}
	}
	return all.String()
}
