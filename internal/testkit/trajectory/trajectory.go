// Package trajectory reads recorded conversations of models with tools, for tests.
package trajectory

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Conversation is a recorded conversation of a user, a model and the model's tools.
type Conversation struct {
	ID       string
	System   string
	Tools    []llm.ToolSpec
	Messages []llm.Message
	// Media says that a message had parts that are not text.
	Media bool
}

type record struct {
	ID     string `json:"id"`
	System string `json:"system"`
	Tools  []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Messages []struct {
		Role      llm.Role        `json:"role"`
		Content   json.RawMessage `json:"content"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	} `json:"messages"`
}

// Load reads the conversations of all *.jsonl files in a folder, in the order of the file names. It skips files with ".flagged." in their
// names. It returns an error if there is no *.jsonl file, or if a file cannot be read.
func Load(dir string) ([]Conversation, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err == nil && len(files) == 0 {
		err = errors.New("there are no *.jsonl files; name the folder with the recorded conversations")
	}
	if err != nil {
		return nil, fmt.Errorf("read conversations in %s: %w", dir, err)
	}
	var all []Conversation
	for _, file := range files {
		if strings.Contains(file, ".flagged.") {
			continue
		}
		read, err := loadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, read...)
	}
	return all, nil
}

func loadFile(file string) ([]Conversation, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	var all []Conversation
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, err
		}
		all = append(all, r.conversation())
	}
	return all, lines.Err()
}

func (r record) conversation() Conversation {
	c := Conversation{ID: r.ID, System: r.System}
	for _, t := range r.Tools {
		c.Tools = append(c.Tools, llm.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters})
	}
	for _, m := range r.Messages {
		out := llm.Message{Role: m.Role, ToolCallID: m.ToolCallID}
		text, media := content(m.Content)
		out.Content = text
		c.Media = c.Media || media
		for _, call := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		c.Messages = append(c.Messages, out)
	}
	return c
}

// content returns the text of a message. If the message has several parts, content joins their texts. For a part that is not
// text, it writes the type of the part in brackets, such as [image_url], and `media` is true.
func content(raw json.RawMessage) (text string, media bool) {
	if json.Unmarshal(raw, &text) == nil {
		return text, false
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", true
	}
	for _, p := range parts {
		if p.Type != "text" {
			media = true
			p.Text = "[" + p.Type + "]"
		}
		text += p.Text
	}
	return text, media
}

// Turns returns the messages that a test needs to repeat the conversation with an agent. The test sends the user's messages, each
// after the agent's answer to the previous one. Turns leaves out user messages at the end of the conversation, because they have no
// answer. If the conversation cannot be repeated in this way, `obstacle` says why, for example "has images or other media". It is
// "" if the conversation can be repeated.
func (c Conversation) Turns() (messages []llm.Message, obstacle string) {
	messages = c.Messages
	for len(messages) > 0 && messages[len(messages)-1].Role == llm.User {
		messages = messages[:len(messages)-1]
	}
	answers := func(m llm.Message) bool { return m.Role == llm.Assistant && len(m.ToolCalls) == 0 }
	switch {
	case len(messages) == 0 || messages[0].Role != llm.User:
		return messages, "begins with the assistant"
	case !answers(messages[len(messages)-1]):
		return messages, "ends without an answer"
	case c.Media:
		return messages, "has images or other media"
	}
	for i, m := range messages {
		switch {
		case m.Role == llm.System:
			return messages, "has a system message in the middle"
		case i == 0:
		case m.Role == llm.User && !answers(messages[i-1]):
			return messages, "has a user message in the middle of a turn"
		case m.Role == llm.Assistant && messages[i-1].Role == llm.Assistant:
			return messages, "has two assistant messages in a row"
		}
	}
	return messages, ""
}

// Features returns the names of the unusual properties of the conversation, such as "parallel calls", in alphabetical order.
func (c Conversation) Features() []string {
	found := map[string]bool{}
	calls, ids := map[string]bool{}, map[string]bool{}
	users := 0
	for _, m := range c.Messages {
		if m.Role == llm.User {
			users++
		}
		if len(m.ToolCalls) > 1 {
			found["parallel calls"] = true
		}
		for _, call := range m.ToolCalls {
			if calls[call.Name+call.Arguments] {
				found["the same call again"] = true
			}
			if ids[call.ID] {
				found["a call ID again"] = true
			}
			calls[call.Name+call.Arguments], ids[call.ID] = true, true
		}
		if m.Role == llm.Tool && m.Content == "" {
			found["an empty result"] = true
		}
		if m.Role == llm.Tool && len(m.Content) > 10_000 {
			found["a long result"] = true
		}
		if m.Role == llm.Assistant && m.Content != "" && len(m.ToolCalls) > 0 {
			found["text beside calls"] = true
		}
		if strings.ContainsFunc(m.Content, func(r rune) bool { return r > 0x2fff }) {
			found["another script"] = true
		}
	}
	if users > 3 {
		found["many turns"] = true
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Representative selects a few conversations for a test that is too slow for all conversations. It keeps their order. Each
// feature (see [Conversation.Features]) occurs in at least two of the selected conversations, or in one if only one of the
// given conversations has the feature. At least one conversation of each source is selected. The source is the part of the ID
// before the first slash.
func Representative(all []Conversation) []Conversation {
	shown := map[string]int{}
	var some []Conversation
	for _, c := range all {
		source, _, _ := strings.Cut(c.ID, "/")
		take := shown[source] == 0
		for _, f := range c.Features() {
			take = take || shown[f] < 2
		}
		if take {
			some = append(some, c)
			shown[source]++
			for _, f := range c.Features() {
				shown[f]++
			}
		}
	}
	return some
}
