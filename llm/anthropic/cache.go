package anthropic

import "strings"

// cacheControl marks the end of a part of a request. The API stores the part up to a mark, and later requests read it from there. The
// parts are in this order: the tools, the system prompt, the messages. A request may have four marks.
type cacheControl struct {
	Type string `json:"type"`
}

// maxTurnMarks is the maximum number of marks in the messages. One more mark is at the end of the tools and the system prompt.
const maxTurnMarks = 3

// mark sets the marks of a request: at the end of the system prompt, or of the tools if there is none, and at the ends of the last
// turns of the user. The end of the last turn is what this request writes. The ends of the two turns before it are what earlier
// requests wrote. Without marks there, the API would search only the 20 blocks before the last mark for a stored part.
func (c *conversation) mark(tools []toolSpec) {
	here := &cacheControl{Type: "ephemeral"}
	switch {
	case len(c.system) > 0:
		c.system[len(c.system)-1].CacheControl = here
	case len(tools) > 0:
		tools[len(tools)-1].CacheControl = here
	}
	marks := 0
	for i := len(c.turns) - 1; i >= 0 && marks < maxTurnMarks; i-- {
		t := c.turns[i]
		// The turn before a text of the client is marked, too, because the next request does not have this text.
		ends := t.Role == "user" || i+1 < len(c.turns) && c.turns[i+1].ours
		if ends && !t.ours && markLast(t.Content, here) {
			marks++
		}
	}
}

// markLast marks the last block that can be marked. The result says whether there is one.
func markLast(blocks []block, here *cacheControl) bool {
	for i := len(blocks) - 1; i >= 0; i-- {
		if b := blocks[i]; b.raw == nil && (b.Type != "text" || strings.TrimSpace(b.Text) != "") {
			blocks[i].CacheControl = here
			return true
		}
	}
	return false
}
