package standin

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
)

// chunk is one event of a stream of the chat completions API.
type chunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
	Usage   *usageCounts  `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

type delta struct {
	Role      string       `json:"role,omitempty"`
	Content   *string      `json:"content,omitempty"`
	Reasoning string       `json:"reasoning_content,omitempty"`
	Thought   string       `json:"reasoning,omitempty"`
	ToolCalls []spokenCall `json:"tool_calls,omitempty"`

	more map[string]json.RawMessage // further members
}

// events converts a completion into the events of a stream, and returns the data of each event. `cut` divides the texts of the
// completion into parts. `usage` says whether the stream has the usage. The events have this order: the role, the parts of the
// reasoning, the parts of the text, further members of the message, the parts of the tool calls, the finish reason, the usage, and
// "[DONE]".
func events(whole completion, usage bool, cut cutter) [][]byte {
	next := chunk{ID: whole.ID, Object: "chat.completion.chunk", Created: whole.Created, Model: whole.Model}
	said := whole.Choices[0]
	var all [][]byte
	for _, d := range deltas(said.Message, cut) {
		next.Choices = []chunkChoice{{Delta: d}}
		all = append(all, compact(next))
	}
	next.Choices = []chunkChoice{{FinishReason: &said.FinishReason}}
	all = append(all, compact(next))
	if usage {
		next.Choices, next.Usage = []chunkChoice{}, &whole.Usage
		all = append(all, compact(next))
	}
	return append(all, []byte("[DONE]"))
}

// compact returns the JSON form of `v` on one line, without HTML escaping.
func compact(v any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // cannot fail for the types of this package
	return bytes.TrimSpace(buffer.Bytes())
}

// writeStream sends an event stream. If `random` is nil, it sends the events one by one, and calls `pace` before each of them. If
// `random` is not nil, it does not call `pace`, and varies the stream at random: the line ends, comments between the events, and the size of
// the portions in which the bytes are sent.
func (a goodAnswer) writeStream(w http.ResponseWriter, events []event, random *rand.Rand) {
	w.Header().Set("Content-Type", ContentType(a.api))
	w.WriteHeader(http.StatusOK)
	if random == nil {
		for i, e := range events {
			if a.pace != nil {
				a.pace(i)
			}
			send(w, a.bytes(e, "\n"))
		}
		return
	}
	end := []string{"\n", "\r\n", "\r"}[random.IntN(3)]
	_, framed := a.api.(framer)
	var all bytes.Buffer
	for _, e := range events {
		if random.IntN(4) == 0 && !framed {
			all.WriteString(": keep-alive" + end + end)
		}
		all.Write(a.bytes(e, end))
	}
	for all.Len() > 0 {
		send(w, all.Next(1+random.IntN(200)))
	}
}

func send(w http.ResponseWriter, data []byte) {
	_, _ = w.Write(data) // the client may have closed the connection
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
}

// deltas cuts a message into the deltas of a stream. If the cutter has a random source, the deltas of different tool calls
// are mixed. The further members of the message come with the last part of the text. If there is no text, or if the random source
// decides so, they come in a delta of their own. The further members of a call come with the first delta of the call.
func deltas(said spoken, cut cutter) []delta {
	empty := ""
	all := []delta{{Role: said.Role, Content: &empty}}
	for _, piece := range cut.pieces(said.Reasoning) {
		all = append(all, delta{Reasoning: piece})
	}
	for _, piece := range cut.pieces(said.Thought) {
		all = append(all, delta{Thought: piece})
	}
	list, more := details(said.more)
	all = append(all, cut.fragments(list)...)
	if said.Content != nil {
		for _, piece := range cut.pieces(*said.Content) {
			all = append(all, delta{Content: &piece})
		}
		if len(more) > 0 && (cut.random == nil || cut.random.IntN(2) == 0) {
			all[len(all)-1].more, more = more, nil
		}
	}
	if len(more) > 0 {
		all = append(all, delta{more: more})
	}
	if said.whole {
		for _, call := range said.ToolCalls {
			all = append(all, delta{ToolCalls: []spokenCall{call}})
		}
		return all
	}
	var calls [][]delta
	for i, call := range said.ToolCalls {
		call.Index = &i
		rest := call.Function.Arguments
		call.Function.Arguments = ""
		pieces := []delta{{ToolCalls: []spokenCall{call}}}
		for _, piece := range cut.pieces(rest) {
			pieces = append(pieces, delta{ToolCalls: []spokenCall{{Index: &i, Function: spokenFunction{Arguments: piece}}}})
		}
		calls = append(calls, pieces)
	}
	return append(all, cut.mix(calls)...)
}
