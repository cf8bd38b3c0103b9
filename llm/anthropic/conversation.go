package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// turn is a message in a request. The turns of the user and of the assistant alternate.
type turn struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
	// ours says that the whole turn is a text of the client.
	ours bool
}

// These texts stand for messages that the API requires, but that the conversation does not have.
const (
	emptyMessage = "(empty message)"           // a message of the user without text
	noBeginning  = "(start of the transcript)" // before a conversation that begins with the assistant
	goOn         = "Continue."                 // after a conversation that ends with the assistant
)

// conversation is the system prompt and the turns of a request.
type conversation struct {
	system []block
	turns  []turn
	ids    callIDs
}

// newConversation converts the messages of a request. `signed` says whether to send the blocks that the API made, such as thinking.
//
// The API has rules for the order. Messages of the same role in a row become one turn. The results of tool calls are the first blocks
// of the turn after the calls. The first turn and the last turn belong to the user: many models refuse a turn of the assistant at the
// end, which they would have to continue.
func newConversation(messages []llm.Message, signed bool) (*conversation, error) {
	c := &conversation{}
	for i, m := range messages {
		if err := c.add(m, signed); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	if len(c.turns) > 0 && c.turns[0].Role == "assistant" {
		c.turns = slices.Insert(c.turns, 0, textTurn(noBeginning))
	}
	if len(c.turns) == 0 || c.turns[len(c.turns)-1].Role == "assistant" {
		c.turns = append(c.turns, textTurn(goOn))
	}
	return c, nil
}

// textTurn returns a turn of the user with a text of the client.
func textTurn(text string) turn {
	return turn{Role: "user", Content: []block{{Type: "text", Text: text}}, ours: true}
}

// add adds a message to the conversation.
func (c *conversation) add(m llm.Message, signed bool) error {
	content, err := contentOf(m)
	if err != nil {
		return err
	}
	switch m.Role {
	case llm.System:
		c.system = append(c.system, content...)
	case llm.User:
		if len(content) == 0 {
			content = appendText(nil, emptyMessage)
		}
		c.append("user", content)
	case llm.Tool:
		c.addResult(block{Type: "tool_result", ToolUseID: c.ids.result(m.ToolCallID), Content: content})
	case llm.Assistant:
		calls, err := c.calls(m.ToolCalls)
		if err != nil {
			return err
		}
		if len(m.Parts) > 0 { // the layout has only the text
			c.append("assistant", append(content, calls...))
			return nil
		}
		c.append("assistant", assistantBlocks(m, calls, signed))
	default:
		return fmt.Errorf("the role %q is unknown", m.Role)
	}
	return nil
}

// calls converts the tool calls of a message.
func (c *conversation) calls(calls []llm.ToolCall) ([]block, error) {
	c.ids.begin()
	var blocks []block
	for _, call := range calls {
		input := json.RawMessage(call.Arguments)
		if strings.TrimSpace(call.Arguments) == "" {
			input = json.RawMessage("{}")
		}
		if !llm.IsObject(string(input)) {
			return nil, fmt.Errorf("the arguments of %s are not a JSON object", call.Name)
		}
		blocks = append(blocks, block{Type: "tool_use", ID: c.ids.call(call.ID), Name: call.Name, Input: input})
	}
	return blocks, nil
}

// append adds blocks to the last turn, or in a new turn if the last one has another role.
func (c *conversation) append(role string, blocks []block) {
	if len(blocks) == 0 {
		return
	}
	if last := len(c.turns) - 1; last >= 0 && c.turns[last].Role == role {
		c.turns[last].Content = append(c.turns[last].Content, blocks...)
		return
	}
	c.turns = append(c.turns, turn{Role: role, Content: blocks})
}

// addResult adds the result of a tool call before the other blocks of the user's turn.
func (c *conversation) addResult(result block) {
	last := len(c.turns) - 1
	if last < 0 || c.turns[last].Role != "user" {
		c.append("user", []block{result})
		return
	}
	content := c.turns[last].Content
	at := slices.IndexFunc(content, func(b block) bool { return b.Type != "tool_result" })
	if at < 0 {
		at = len(content)
	}
	c.turns[last].Content = slices.Insert(content, at, result)
}

// unsigned reports whether the running turn of the assistant began without thinking. It begins after the last message of the user
// and continues after the results of tool calls. If thinking has a budget, the API refuses such a conversation.
func (c *conversation) unsigned() bool {
	from := len(c.turns)
	for from > 0 {
		t := c.turns[from-1]
		if t.Role == "user" && (len(t.Content) == 0 || t.Content[0].Type != "tool_result") {
			break
		}
		from--
	}
	for _, t := range c.turns[from:] {
		if t.Role == "assistant" {
			return len(t.Content) > 0 && !t.Content[0].thinks()
		}
	}
	return false
}
