package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// turn is a message in a request. User turns and assistant turns alternate.
type turn struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
	// ours says that the client added the turn with [textTurn].
	ours bool
}

// The client sends these texts where the API requires a text or a message, but the conversation has none.
const (
	emptyMessage = "(empty message)"           // for a user message without text
	noBeginning  = "(start of the transcript)" // before a conversation that begins with the assistant
	goOn         = "Continue."                 // after a conversation that ends with the assistant
)

type conversation struct {
	system []block
	turns  []turn
	ids    endpoint.CallIDs
}

// newConversation converts the messages of a request. Which blocks of earlier replies are sent back, such as thinking, depends on `family`
// and on the form: see [assistantBlocks] and [thoughts].
//
// The API has rules for the order:
//   - Messages of the same role in a row become one turn.
//   - The results of tool calls are the first blocks of the turn after the calls.
//   - The first turn and the last turn are user turns, because many models refuse to continue an assistant turn.
func newConversation(messages []llm.Message, family string, f form) (*conversation, error) {
	c := &conversation{}
	for i, m := range messages {
		if err := c.add(m, family, f); err != nil {
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

func textTurn(text string) turn {
	return turn{Role: "user", Content: []block{{Type: "text", Text: text}}, ours: true}
}

func (c *conversation) add(m llm.Message, family string, f form) error {
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
		c.addResult(block{Type: "tool_result", ToolUseID: c.ids.Result(m.ToolCallID), Content: content})
	case llm.Assistant:
		calls, err := c.calls(m.ToolCalls)
		if err != nil {
			return err
		}
		if len(m.Parts) == 0 { // a layout cannot describe parts
			content, calls = nil, assistantBlocks(m, calls, family, f)
		}
		c.append("assistant", thoughts(m, append(content, calls...), f))
	default:
		return fmt.Errorf("the role %q is unknown; use system, user, assistant or tool", m.Role)
	}
	return nil
}

func (c *conversation) calls(calls []llm.ToolCall) ([]block, error) {
	var blocks []block
	for _, call := range calls {
		input := json.RawMessage(call.Arguments)
		if strings.TrimSpace(call.Arguments) == "" {
			input = json.RawMessage("{}")
		}
		if !llm.IsObject(string(input)) {
			return nil, fmt.Errorf("the arguments of %s are not a JSON object; send a JSON object such as {}", call.Name)
		}
		blocks = append(blocks, block{Type: "tool_use", ID: c.ids.Call(call.ID), Name: call.Name, Input: input})
	}
	return blocks, nil
}

// append adds blocks to the last turn if that has the given role. If not, it begins a new turn. It ignores an empty list.
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

// addResult adds the result of a tool call to the user turn, after the earlier results and before all other blocks.
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

// unsigned reports whether the first assistant turn after the last user message begins without a thinking block. Tool results are
// not user messages in this sense. The API refuses such a conversation if the request has a thinking budget.
func (c *conversation) unsigned() bool {
	unsigned := false
	for _, t := range slices.Backward(c.turns) {
		first := t.Content[0]
		if t.Role == "assistant" {
			unsigned = !first.thinks()
		} else if first.Type != "tool_result" {
			break
		}
	}
	return unsigned
}
