package anthropic

import "strings"

// PromptCache says whether requests have marks for Anthropic's prompt cache, and for how long the API keeps what they mark. The time
// begins anew with each request that reads it. A token that is read from the cache costs a tenth of other input tokens. A token that
// is written to the cache costs more (Anthropic's documentation, "Prompt caching").
type PromptCache string

const (
	// UsualCache is the default: the API's usual time, which is 5 minutes. Writing costs 1.25 times the price of input.
	UsualCache PromptCache = ""
	// HourCache is one hour, for conversations that wait for people. Writing costs twice the price of input.
	HourCache PromptCache = "1h"
	// NoCache means no marks. Set it if no request begins like an earlier one.
	NoCache PromptCache = "off"
)

// cacheControl is a mark for Anthropic's prompt cache. The API stores the prompt up to each mark. A later request that begins
// with the same bytes reads this part from the cache. The prompt has this order: the tools, the system prompt, the messages. A
// request may have at most four marks. No mark may be kept for longer than one before it, so all marks of a request are the same.
type cacheControl struct {
	Type string `json:"type"`
	// TTL is how long the marked part is kept; empty for the usual time.
	TTL string `json:"ttl,omitempty"`
}

// maxTurnMarks is the maximum number of marks in the messages. The fourth mark is in the system prompt or in the tools.
const maxTurnMarks = 3

// marks returns the mark for the requests in the form `f`; nil if they have no marks.
func (f form) marks() *cacheControl {
	switch {
	case f.uncached:
		return nil
	case f.brief:
		return &cacheControl{Type: "ephemeral"}
	}
	return &cacheControl{Type: "ephemeral", TTL: string(HourCache)}
}

// mark sets the mark `here` at these places of a request:
//   - the end of the system prompt or, if there is none, of `tools`
//   - the end of the last user turn, where the API stores this request
//   - the ends of the two user turns before it, where the API has stored earlier requests. Without these marks, the API would look for a
//     stored part only at the last mark and at the 19 blocks before it.
func (c *conversation) mark(tools []toolSpec, here *cacheControl) {
	switch {
	case len(c.system) > 0:
		c.system[len(c.system)-1].CacheControl = here
	case len(tools) > 0:
		tools[len(tools)-1].CacheControl = here
	}
	marks := 0
	for i := len(c.turns) - 1; i >= 0 && marks < maxTurnMarks; i-- {
		t := c.turns[i]
		// The turn before a turn that the client added is marked, too, because the next request does not have the added turn.
		ends := t.Role == "user" || i+1 < len(c.turns) && c.turns[i+1].ours
		if ends && !t.ours && markLast(t.Content, here) {
			marks++
		}
	}
}

// markLast marks the last block that can be marked, and reports whether there is one. A block with [block.raw] and a text with
// only white space cannot be marked.
func markLast(blocks []block, here *cacheControl) bool {
	for i := len(blocks) - 1; i >= 0; i-- {
		if b := blocks[i]; b.raw == nil && (b.Type != "text" || strings.TrimSpace(b.Text) != "") {
			blocks[i].CacheControl = here
			return true
		}
	}
	return false
}
