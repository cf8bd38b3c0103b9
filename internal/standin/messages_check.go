package standin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

var (
	// messagesToolName matches the tool names that Anthropic accepts.
	messagesToolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	// messagesCallID matches the IDs of tool calls that Anthropic accepts.
	messagesCallID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	// withoutFormat matches the names of models without structured outputs, which came with Claude Opus 4.1 and Sonnet 4.5 (Anthropic:
	// "Structured outputs").
	withoutFormat = regexp.MustCompile(`^claude-(?:3|(?:opus|sonnet)-4-(?:0|20250514)$)`)
)

// maxMarks is the largest number of marks for the prompt cache in a request.
const maxMarks = 4

// check checks a request as Anthropic does. It returns Anthropic's error response for an invalid request; nil for a valid one. If `free` is
// set, it does not check what only a provider can check that signs its thinking: signatures, and whether a turn begins with thinking.
func (r *messagesRequest) check(free bool) *refusal {
	switch {
	case r.Model == "":
		return invalid("", "model: Field required")
	case r.MaxTokens == nil:
		return invalid("", "max_tokens: Field required")
	case *r.MaxTokens < 1:
		return invalid("", "max_tokens: Input should be greater than or equal to 1")
	case len(r.Messages) == 0:
		return invalid("", "messages: at least one message is required")
	case r.Messages[0].Role != "user":
		return invalid("", "messages: first message must use the \"user\" role")
	case r.Messages[len(r.Messages)-1].Role == "assistant":
		return invalid("", "This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	checks := []func() *refusal{r.checkTools, r.checkThinking, r.checkFormat, r.checkMarks, r.checkTurns}
	if !free {
		checks = append(checks, r.checkSignatures, r.checkBegun)
	}
	for _, check := range checks {
		if refused := check(); refused != nil {
			return refused
		}
	}
	return nil
}

// checkSignatures checks that each thinking block is one of Anthropic's, in its place.
func (r *messagesRequest) checkSignatures() *refusal {
	for i, t := range r.Messages {
		for j, b := range t.Content {
			switch {
			case b.Type != "thinking":
			case b.Signature == nil || *b.Signature == "":
				return invalid("", "messages.%d.content.%d.thinking.signature: Field required", i, j)
			case *b.Signature != blockSignature(*b.Thinking, j):
				return invalid("", "messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
			}
		}
	}
	return nil
}

func (r *messagesRequest) checkTools() *refusal {
	var names []string
	for i, t := range r.Tools {
		var schema struct {
			Type       string          `json:"type"`
			Properties json.RawMessage `json:"properties"`
		}
		_ = json.Unmarshal(t.InputSchema, &schema)
		switch {
		case !messagesToolName.MatchString(t.Name):
			return invalid("", "tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		case slices.Contains(names, t.Name):
			return invalid("", "tools: Tool names must be unique.")
		case len(t.InputSchema) == 0:
			return invalid("", "tools.%d.custom.input_schema: Field required", i)
		case schema.Type != "object":
			return invalid("", "tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
		names = append(names, t.Name)
	}
	c := r.ToolChoice
	switch {
	case c == nil:
	case len(r.Tools) == 0:
		return invalid("", "tool_choice: may only be specified while providing tools.")
	case !slices.Contains([]string{"auto", "any", "tool", "none"}, c.Type):
		return invalid("", "tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'", c.Type)
	case c.Type == "none" && c.Disabled != nil:
		return invalid("", "tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted")
	case c.Type == "tool" && !slices.Contains(names, c.Name):
		return invalid("", "tool_choice: Tool '%s' not found in provided tools", c.Name)
	case c.Type != "tool" && c.Name != "":
		return invalid("", "tool_choice.%s.name: Extra inputs are not permitted", c.Type)
	case r.thinks() && (c.Type == "any" || c.Type == "tool"):
		return invalid("", "Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

// thinks reports whether the request turns thinking on.
func (r *messagesRequest) thinks() bool { return r.Thinking != nil && r.Thinking.Type != "disabled" }

func (r *messagesRequest) checkThinking() *refusal {
	t := r.Thinking
	if effort := r.OutputConfig.Effort; effort != "" && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, effort) {
		return invalid("", "level %q not supported, valid levels: low, medium, high, xhigh, max", effort)
	}
	switch {
	case t == nil || t.Type == "disabled":
		return nil
	case t.Type == "enabled" && (t.BudgetTokens == nil || *t.BudgetTokens < 1024):
		return invalid("", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case t.Type == "enabled" && *t.BudgetTokens >= *r.MaxTokens:
		return invalid("", "`max_tokens` must be greater than `thinking.budget_tokens`.")
	case t.Type == "adaptive" && t.BudgetTokens != nil:
		return invalid("", "thinking.adaptive.budget_tokens: Extra inputs are not permitted")
	case t.Type != "enabled" && t.Type != "adaptive":
		return invalid("", "thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'disabled', 'enabled', 'adaptive'", t.Type)
	case !slices.Contains([]string{"", "summarized", "omitted"}, t.Display):
		return invalid("", "thinking.%s.display: Input should be 'summarized' or 'omitted'", t.Type)
	case r.Temperature != nil && *r.Temperature != 1:
		return invalid("", "`temperature` may only be set to 1 when thinking is enabled.")
	case r.TopP != nil && *r.TopP < 0.95:
		return invalid("", "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
	}
	return nil
}

func (r *messagesRequest) checkFormat() *refusal {
	f := r.OutputConfig.Format
	var schema map[string]any
	switch {
	case f == nil:
		return nil
	case withoutFormat.MatchString(r.Model):
		return invalid("", "'%s' does not support output format.", r.Model)
	case f.Type != "json_schema":
		return invalid("", "output_config.format.type: Input should be 'json_schema'")
	case json.Unmarshal(f.Schema, &schema) != nil:
		return invalid("", "output_config.format.schema: Input should be an object")
	}
	return checkClosed(schema)
}

// checkClosed checks that each object in a schema forbids additional properties.
func checkClosed(schema any) *refusal {
	switch s := schema.(type) {
	case map[string]any:
		if s["type"] == "object" && s["additionalProperties"] != false {
			return invalid("", "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false")
		}
		for _, inner := range s {
			if refused := checkClosed(inner); refused != nil {
				return refused
			}
		}
	case []any:
		for _, inner := range s {
			if refused := checkClosed(inner); refused != nil {
				return refused
			}
		}
	}
	return nil
}

func (r *messagesRequest) checkMarks() *refusal {
	var marks marks
	for i, t := range r.Tools {
		marks.add(fmt.Sprintf("tools.%d", i), t.CacheControl)
	}
	for i, b := range r.System {
		marks.add(fmt.Sprintf("system.%d", i), b.CacheControl)
	}
	for i, t := range r.Messages {
		for j, b := range t.Content {
			at := fmt.Sprintf("messages.%d.content.%d", i, j)
			if b.CacheControl != nil && strings.HasSuffix(b.Type, "thinking") {
				return invalid("", "%s.%s.cache_control: Extra inputs are not permitted", at, b.Type)
			}
			marks.add(at, b.CacheControl)
		}
	}
	if marks.refused == nil && marks.count > maxMarks {
		return invalid("", "A maximum of 4 blocks with cache_control may be provided. Found %d.", marks.count)
	}
	return marks.refused
}

// marks checks the marks for the prompt cache in a request, in the order of the prompt.
type marks struct {
	count   int
	short   bool // whether a mark so far is kept for 5 minutes
	refused *refusal
}

// add checks a mark, which is nil for a block without one. `at` is the path of the block. Source: Anthropic's documentation, "Prompt
// caching". The wording for the order is that in headroomlabs-ai/headroom#2939.
func (m *marks) add(at string, mark json.RawMessage) {
	if mark == nil || m.refused != nil {
		return
	}
	m.count++
	var wire struct {
		Type string  `json:"type"`
		TTL  *string `json:"ttl"`
	}
	_ = json.Unmarshal(mark, &wire)
	long := wire.TTL != nil && *wire.TTL == "1h"
	switch {
	case wire.Type != "ephemeral":
		m.refused = invalid("", "%s.cache_control: Input tag '%s' found using 'type' does not match any of the expected tags: 'ephemeral'", at, wire.Type)
	case wire.TTL != nil && !long && *wire.TTL != "5m":
		m.refused = invalid("", "%s.cache_control.ephemeral.ttl: Input should be '5m' or '1h'", at)
	case long && m.short:
		m.refused = invalid("", "%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "+
			"Note that blocks are processed in the following order: `tools`, `system`, `messages`.", at)
	}
	m.short = m.short || !long
}

// checkTurns checks the contents of the turns, their order, and that each call has its result in the next turn.
func (r *messagesRequest) checkTurns() *refusal {
	var ids, open []string // all IDs so far, and those of the last turn that have no result yet
	for i, b := range r.System {
		if refused := b.check(fmt.Sprintf("system.%d", i), "text"); refused != nil {
			return refused
		}
	}
	for i, t := range r.Messages {
		kinds := []string{"text", "image", "tool_result"}
		if t.Role == "assistant" {
			kinds = []string{"text", "tool_use", "thinking", "redacted_thinking"}
		}
		switch {
		case t.Role != "user" && t.Role != "assistant":
			return invalid("", "messages.%d.role: Input should be 'user' or 'assistant'", i)
		case i > 0 && r.Messages[i-1].Role == t.Role:
			return invalid("", "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"%s\" roles in a row", t.Role)
		case len(t.Content) == 0:
			return invalid("", "messages.%d: all messages must have non-empty content", i)
		}
		if refused := t.checkResults(i, open); refused != nil {
			return refused
		}
		open = nil
		for j, b := range t.Content {
			at := fmt.Sprintf("messages.%d.content.%d", i, j)
			if refused := b.check(at, kinds...); refused != nil {
				return refused
			}
			if b.Type != "tool_use" {
				continue
			}
			if slices.Contains(ids, b.ID) {
				return invalid("", "%s: `tool_use` ids must be unique", at)
			}
			ids, open = append(ids, b.ID), append(open, b.ID)
		}
		if t.Role == "assistant" && strings.HasSuffix(t.Content[len(t.Content)-1].Type, "thinking") {
			return invalid("", "messages.%d: The final block in an assistant message cannot be `thinking`.", i)
		}
	}
	return nil
}

// checkResults checks that the turn begins with one result for each call in the turn before it. `open` has the IDs of these calls, and
// `i` is the index of the turn.
func (t messagesTurn) checkResults(i int, open []string) *refusal {
	open = slices.Clone(open)
	results := true
	for j, b := range t.Content {
		at := slices.Index(open, b.ToolUseID)
		switch {
		case b.Type != "tool_result":
			results = false
		case at < 0:
			return invalid("", "messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
		case !results:
			return invalid("", "messages.%d.content.%d: `tool_result` blocks must come before other blocks", i, j)
		default:
			open = slices.Delete(open, at, at+1)
		}
	}
	if len(open) > 0 {
		return invalid("", "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, strings.Join(open, ", "))
	}
	return nil
}

// checkBegun applies only to a request with a thinking budget. It checks that the first assistant turn after the last user
// message begins with a thinking block. Tool results are not user messages in this sense.
func (r *messagesRequest) checkBegun() *refusal {
	if r.Thinking == nil || r.Thinking.Type != "enabled" {
		return nil
	}
	from := len(r.Messages)
	for from > 0 && (r.Messages[from-1].Role == "assistant" || r.Messages[from-1].Content[0].Type == "tool_result") {
		from--
	}
	if from == len(r.Messages) {
		return nil
	}
	if kind := r.Messages[from].Content[0].Type; !strings.HasSuffix(kind, "thinking") {
		return invalid("", "messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", from, kind) //nolint:misspell // Anthropic's spelling
	}
	return nil
}

// check checks one block. `at` is its path in the request, and `kinds` are the types that it may have.
func (b messagesBlock) check(at string, kinds ...string) *refusal {
	if !slices.Contains(kinds, b.Type) {
		return invalid("", "%s: Input tag '%s' found using 'type' does not match any of the expected tags: '%s'", at, b.Type, strings.Join(kinds, "', '"))
	}
	switch b.Type {
	case "text":
		switch {
		case b.Text == nil:
			return invalid("", "%s.text.text: Field required", at)
		case *b.Text == "":
			return invalid("", "%s: text content blocks must be non-empty", at)
		case strings.TrimSpace(*b.Text) == "":
			return invalid("", "%s: text content blocks must contain non-whitespace text", at)
		}
	case "image":
		s := b.Source
		if s.Type != "url" && s.Type != "base64" || s.Type == "url" && !strings.HasPrefix(s.URL, "http") ||
			s.Type == "base64" && (s.Data == "" || !strings.HasPrefix(s.MediaType, "image/")) {
			return invalid("", "%s.image.source: Input should be a valid image", at)
		}
	case "thinking":
		if b.Thinking == nil {
			return invalid("", "%s.thinking.thinking: Field required", at)
		}
	case "redacted_thinking":
		if b.Data == nil {
			return invalid("", "%s.redacted_thinking.data: Field required", at)
		}
	case "tool_use":
		switch {
		case !messagesCallID.MatchString(b.ID):
			return invalid("", "%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
		case b.Name == "":
			return invalid("", "%s.tool_use.name: String should have at least 1 character", at)
		case !llm.IsObject(string(b.Input)):
			return invalid("", "%s.tool_use.input: Input should be an object", at)
		}
	case "tool_result":
		if !messagesCallID.MatchString(b.ToolUseID) {
			return invalid("", "%s.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
		}
		for i, inner := range b.Content {
			if refused := inner.check(fmt.Sprintf("%s.tool_result.content.%d", at, i), "text", "image"); refused != nil {
				return refused
			}
		}
	}
	return nil
}
