package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/exact"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// chunk is one event of a stream.
type chunk struct {
	Type    text            `json:"type"`
	Message json.RawMessage `json:"message"`
	Index   count           `json:"index"`
	Block   json.RawMessage `json:"content_block"`
	Delta   json.RawMessage `json:"delta"`
	Usage   lenientUsage    `json:"usage"`
}

// delta has the fields of the deltas of a content block and of a message.
type delta struct {
	Type        text `json:"type"`
	Text        text `json:"text"`
	Thinking    text `json:"thinking"`
	Signature   text `json:"signature"`
	PartialJSON text `json:"partial_json"`
	ending
}

// assembly is the part of a reply that has arrived so far. It is an [endpoint.Reply].
type assembly struct {
	renew func()
	tell  func(llm.Delta)
	// tool is the name of the tool for the answer: see [form.answerTool].
	tool   string
	model  string
	blocks []*growing
	// open has the blocks that have not ended, by their index in the stream.
	open map[count]*growing
	// announces says that the stream has an event at the beginning of a block.
	announces bool
	calls     int // the number of tool calls so far
	size      int // the size of the reply so far, in bytes
	// reasoned says that the function `tell` got a part of the reasoning.
	reasoned bool
	ending   ending
	usage    usage
	// spoke says that the reply has a text, a reasoning or a tool call.
	spoke bool
	// stopped says that the event message_stop has arrived.
	stopped bool
	// whole is the reply if it was not streamed.
	whole *answer
}

// growing is a content block of which parts have arrived.
type growing struct {
	piece
	start     json.RawMessage // the block in its first event
	text      strings.Builder
	input     strings.Builder
	signature strings.Builder
	call      int // the index of the tool call among the calls of the reply
	// members has the texts that deltas have added to the members of a block of another kind, such as a compaction.
	members map[string]*strings.Builder
}

// blockSize is counted for each block in addition to its texts, in bytes. It limits the number of blocks.
const blockSize = 128

// Whole reads a response that is not streamed.
func (s *assembly) Whole(a endpoint.Response) error {
	var reply message
	if err := json.Unmarshal(a.Body, &reply); err != nil {
		return a.Bad(endpoint.Messages, err)
	}
	if reply.Type != "message" && len(reply.Content) == 0 {
		if err := a.Foreign(endpoint.Messages); err != nil {
			return err
		}
	}
	whole := reply.answer()
	s.whole = &whole
	return nil
}

// Spoke reports whether the reply has a text, a reasoning or a tool call.
func (s *assembly) Spoke() bool { return s.spoke }

// Rest implements [endpoint.Reply]. Before the event that ends the reply, it returns 0.
func (s *assembly) Rest() time.Duration {
	if s.stopped || s.ending.StopReason != nil {
		return endpoint.AfterFinish
	}
	return 0
}

// Ended returns an error if the reply is not complete, whether or not the stream ended with [DONE], which is not part of the API.
func (s *assembly) Ended(bool) error {
	if s.Rest() > 0 {
		return nil
	}
	return endpoint.LostError{Err: errors.New("the stream ended before the reply was complete")}
}

// Take adds an event to the reply. It returns an error for these events:
//   - an event that is an error, or that makes the reply too large
//   - an event of another API, if the reply has not begun
//   - an event that cannot be decoded: see [endpoint.Response.Unread]
//   - the last event
//
// Take ignores other unknown events.
func (s *assembly) Take(a endpoint.Response, e endpoint.Event) error {
	a.Body, a.Failed = e.Data, e.Name == "error"
	if err := a.Failure(); err != nil {
		return err
	}
	var c chunk
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return a.Unread(e, err, "{")
	}
	switch cmp.Or(string(c.Type), e.Name) {
	case "message_start":
		var m message
		if json.Unmarshal(c.Message, &m) == nil {
			s.model, s.usage = string(m.Model), s.usage.join(m.Usage.Value)
		}
	case "content_block_start":
		return s.start(c)
	case "content_block_delta":
		return s.grow(c)
	case "content_block_stop":
		s.close(c)
	case "message_delta":
		s.usage = s.usage.join(c.Usage.Value)
		var d delta
		if json.Unmarshal(c.Delta, &d) == nil && d.StopReason != nil {
			s.ending = d.ending
		}
	case "message_stop":
		s.stopped = true
		return io.EOF
	case "ping":
	default:
		if !s.spoke {
			return a.Foreign(endpoint.Messages)
		}
	}
	return nil
}

func (s *assembly) start(c chunk) error {
	s.announces = true
	p, ok := readPiece(c.Block)
	if before := s.open[c.Index]; !ok || before != nil && before.kind == "tool_use" && before.id != "" && before.id == p.id {
		return nil // not a block, or the same call again
	}
	g := &growing{piece: p, start: append(json.RawMessage(nil), c.Block...)}
	g.raw = nil // the raw block of an event is incomplete, and its memory is used again
	if s.open == nil {
		s.open = map[count]*growing{}
	}
	s.blocks, s.open[c.Index] = append(s.blocks, g), g
	s.renew()
	if err := s.count(blockSize + len(p.id) + len(p.name)); err != nil {
		return err
	}
	switch p.kind {
	case "tool_use":
		if !s.answers(g) {
			g.call = s.calls
			s.calls++
			s.say(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: g.call, Name: p.name}})
		}
		if input := strings.TrimSpace(p.input); input != "{}" {
			return s.addInput(g, input)
		}
	case "text", "thinking":
		return s.addText(g, p.text)
	default:
		return s.count(len(c.Block))
	}
	return nil
}

func (s *assembly) grow(c chunk) error {
	g := s.open[c.Index]
	var d delta
	if json.Unmarshal(c.Delta, &d) != nil {
		return nil //nolint:nilerr // what is not a delta adds nothing
	}
	if g == nil {
		if g = s.unannounced(c.Index, d); g == nil {
			return nil
		}
	}
	if d.Text != "" || d.Thinking != "" || d.PartialJSON != "" || d.Signature != "" {
		s.renew()
	}
	switch g.kind {
	case "text":
		return s.addText(g, string(d.Text))
	case "thinking":
		g.signature.WriteString(string(d.Signature))
		if err := s.count(len(d.Signature)); err != nil {
			return err
		}
		return s.addText(g, string(d.Thinking))
	case "tool_use":
		return s.addInput(g, string(d.PartialJSON))
	}
	if err := s.addInput(g, string(d.PartialJSON)); err != nil {
		return err
	}
	return s.addMembers(g, c.Delta)
}

// unannounced begins a block in the stream of a proxy that sends only the deltas of blocks. It returns nil for a delta of a call, which would
// have no name.
func (s *assembly) unannounced(index count, d delta) *growing {
	kinds := map[text]string{"text_delta": "text", "thinking_delta": "thinking"}
	kind, ok := kinds[d.Type]
	if !ok || s.announces {
		return nil
	}
	g := &growing{piece: piece{kind: kind}}
	if s.open == nil {
		s.open = map[count]*growing{}
	}
	s.blocks, s.open[index] = append(s.blocks, g), g
	s.size += blockSize
	return g
}

// addMembers adds the texts in a delta to the members of a block that is sent back as it came, such as a compaction.
func (s *assembly) addMembers(g *growing, encoded json.RawMessage) error {
	all, err := members(encoded)
	if err != nil {
		return nil //nolint:nilerr // what is not a delta adds nothing
	}
	for _, m := range all {
		var part string
		if m.Name == "type" || m.Name == "partial_json" || json.Unmarshal(m.Value, &part) != nil {
			continue
		}
		if g.members == nil {
			g.members = map[string]*strings.Builder{}
		}
		if g.members[m.Name] == nil {
			g.members[m.Name] = &strings.Builder{}
		}
		g.members[m.Name].WriteString(part)
		if err := s.count(len(m.Name) + len(part)); err != nil {
			return err
		}
	}
	return nil
}

// close ends a block. For a tool call without input, it passes an empty object to `tell`: see [piece.arguments].
func (s *assembly) close(c chunk) {
	g := s.open[c.Index]
	delete(s.open, c.Index)
	if g != nil && g.kind == "tool_use" && !s.answers(g) && strings.TrimSpace(g.input.String()) == "" {
		s.say(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: g.call, Arguments: "{}"}})
	}
}

func (s *assembly) addText(g *growing, part string) error {
	if part == "" {
		return nil
	}
	if g.kind == "thinking" {
		first := g.text.Len() == 0
		if first && s.reasoned {
			s.say(llm.Delta{Reasoning: "\n\n"}) // see [between]
		}
		s.reasoned = true
		s.say(llm.Delta{Reasoning: part})
	} else {
		s.say(llm.Delta{Text: part})
	}
	g.text.WriteString(part)
	return s.count(len(part))
}

// addInput adds a part of the input of a tool call, or of the call of a server tool.
func (s *assembly) addInput(g *growing, part string) error {
	if part == "" {
		return nil
	}
	first := g.input.Len() == 0
	g.input.WriteString(part)
	switch {
	case s.answers(g):
		s.say(llm.Delta{Text: part, Whole: first}) // the text before it is not a part of the answer
	case g.kind == "tool_use":
		s.say(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: g.call, Arguments: part}})
	}
	return s.count(len(part))
}

// answers reports whether a block is the call of the tool for the answer. Its input is told as the text of the reply.
func (s *assembly) answers(g *growing) bool {
	return g.kind == "tool_use" && s.tool != "" && g.name == s.tool
}

func (s *assembly) say(d llm.Delta) {
	s.spoke = true
	s.tell(d)
}

// count adds `size` bytes to the size of the reply. It returns [endpoint.ErrTooLarge] if the reply is too large.
func (s *assembly) count(size int) error {
	if s.size += size; s.size > endpoint.MaxReply {
		return endpoint.ErrTooLarge
	}
	return nil
}

func (s *assembly) answer() answer {
	a := answer{model: s.model, ending: s.ending, usage: s.usage}
	for _, g := range s.blocks {
		a.pieces = append(a.pieces, g.whole())
	}
	if s.whole != nil {
		a = *s.whole
	}
	a.pieces = answered(a.pieces, s.tool, a.reason())
	return a
}

// signedBlock is a thinking block as the API sends it in a response that is not streamed. Other providers do not sign it.
type signedBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

// whole returns the block as a response that is not streamed would have it.
func (g *growing) whole() piece {
	p := g.piece
	p.text = g.text.String()
	switch p.kind {
	case "text":
	case "tool_use":
		p.input = g.input.String()
	case "thinking":
		var start wireBlock
		_ = json.Unmarshal(g.start, &start)
		if signature := string(start.Signature) + g.signature.String(); signature != "" || p.text != "" {
			p.raw, _ = endpoint.Encode(signedBlock{p.kind, p.text, signature}) // strings have a JSON form
		}
	default:
		p.raw = g.start
		all, err := members(g.start)
		if err != nil {
			break
		}
		if input := g.input.String(); json.Valid([]byte(input)) {
			all = withMember(all, "input", json.RawMessage(input))
		}
		for _, name := range slices.Sorted(maps.Keys(g.members)) {
			var text string
			for _, m := range all {
				if m.Name == name {
					_ = json.Unmarshal(m.Value, &text) // a text in the first event comes before those of the deltas; null adds nothing
				}
			}
			encoded, _ := endpoint.Encode(text + g.members[name].String()) // a string has a JSON form
			all = withMember(all, name, encoded)
		}
		p.raw = exact.Object(all)
	}
	return p
}
