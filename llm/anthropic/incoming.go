package anthropic

import (
	"cmp"
	"encoding/json"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// The decoders of text and count accept any JSON value.
type (
	text  = endpoint.Text
	count = endpoint.Count
)

// message is the body of a response that is not streamed. It has only the fields that the client needs, and its decoder accepts any
// JSON value for most of them.
type message struct {
	Type    text              `json:"type"`
	Model   text              `json:"model"`
	Content []json.RawMessage `json:"content"`
	ending
	Usage lenientUsage `json:"usage"`
}

type ending struct {
	StopReason *text `json:"stop_reason"`
	// StopDetails says why the model refused.
	StopDetails endpoint.Optional[struct {
		Explanation text `json:"explanation"`
	}] `json:"stop_details"`
}

type lenientUsage = endpoint.Optional[usage]

type usage struct {
	InputTokens   count `json:"input_tokens"`
	CacheRead     count `json:"cache_read_input_tokens"`
	CacheCreation count `json:"cache_creation_input_tokens"`
	OutputTokens  count `json:"output_tokens"`
	OutputDetails struct {
		ThinkingTokens count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// join returns the usage u, in which the numbers of `later` replace those of u. A number that `later` does not have stays. The first event of
// a stream has the numbers of the input and a first number of the output. A later event has the total number of the output, and sometimes the
// numbers of the input, too.
func (u usage) join(later usage) usage {
	u.InputTokens = cmp.Or(later.InputTokens, u.InputTokens)
	u.CacheRead = cmp.Or(later.CacheRead, u.CacheRead)
	u.CacheCreation = cmp.Or(later.CacheCreation, u.CacheCreation)
	u.OutputTokens = cmp.Or(later.OutputTokens, u.OutputTokens)
	u.OutputDetails.ThinkingTokens = cmp.Or(later.OutputDetails.ThinkingTokens, u.OutputDetails.ThinkingTokens)
	return u
}

// usage converts the usage into the type of package llm. Anthropic's `input_tokens` does not include the tokens that were read
// from the cache or written to it. The result is bounded: see [llm.MaxReplyTokens].
func (u usage) usage() llm.Usage {
	return llm.Usage{
		InputTokens:      int(u.InputTokens + u.CacheRead + u.CacheCreation),
		OutputTokens:     int(u.OutputTokens),
		CachedTokens:     int(u.CacheRead),
		CacheWriteTokens: int(u.CacheCreation),
		ReasoningTokens:  int(u.OutputDetails.ThinkingTokens),
	}.Bounded()
}

// answer is a reply of the endpoint, whether it was streamed or not.
type answer struct {
	model  string
	pieces []piece
	ending
	usage usage
}

// piece is one block of a reply's content.
type piece struct {
	kind string // such as "text", "thinking" or "tool_use"
	// text is the text of a text block, or the thinking of a thinking block.
	text string
	// id, name and input are fields of a tool_use block. The input is the text that the model wrote; it may be empty.
	id, name, input string
	// raw is the JSON of the whole block if later requests must send it back. It is nil for text, for tool_use, and for thinking
	// without a text and a signature.
	raw json.RawMessage
}

// wireBlock is a content block as the endpoint sends it. The client sends a [block].
type wireBlock struct {
	Type      text            `json:"type"`
	Text      text            `json:"text"`
	Thinking  text            `json:"thinking"`
	Signature text            `json:"signature"`
	ID        text            `json:"id"`
	Name      text            `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// answer converts the message. It ignores elements of the content that are not objects or have no type.
func (m message) answer() answer {
	a := answer{model: string(m.Model), ending: m.ending, usage: m.Usage.Value}
	for _, raw := range m.Content {
		if p, ok := readPiece(raw); ok {
			a.pieces = append(a.pieces, p)
		}
	}
	return a
}

// readPiece decodes a block of a reply's content. It returns false if the block is not an object or has no type.
func readPiece(raw json.RawMessage) (piece, bool) {
	var b wireBlock
	if json.Unmarshal(raw, &b) != nil {
		return piece{}, false
	}
	p := piece{kind: string(b.Type), id: string(b.ID), name: string(b.Name)}
	if p.kind == "" && b.Text != "" {
		p.kind = "text"
	}
	switch p.kind {
	case "text":
		p.text = string(b.Text)
	case "tool_use":
		p.input = inputText(b.Input)
	case "thinking":
		p.text = string(b.Thinking)
		if b.Signature != "" || b.Thinking != "" {
			p.raw = raw
		}
	case "":
		return piece{}, false
	default:
		p.raw = raw
	}
	return p, true
}

// inputText returns the input of a tool_use block as the text of a call's arguments. Some endpoints send this text as a JSON
// string instead of an object.
func inputText(input json.RawMessage) string {
	if len(input) == 0 {
		return ""
	}
	var t text
	_ = t.UnmarshalJSON(input)
	return string(t)
}
