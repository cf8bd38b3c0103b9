package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
)

// callID matches the IDs of tool calls that the client sends unchanged. The API documents no maximum length. Only IDs of other
// providers are longer than 64 characters.
var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// callIDs makes the IDs of tool calls valid and unique. The ID of an [llm.ToolCall] is unique only within its message, and it may
// have any characters. An ID that matches [callID] is sent unchanged, and any other ID is replaced by a hash. If the result was
// already used, it gets a number: the second "a" becomes "a_2". The sent IDs depend only on the messages so far, so that a longer
// conversation begins with the same bytes. The zero value is ready for use.
type callIDs struct {
	used map[string]bool
	// last maps each ID to the number of its last use.
	last map[string]int
	// now maps the IDs of the calls in the last assistant message to the IDs that are sent.
	now map[string]string
}

// begin starts an assistant message. The later results belong to the calls of this message.
func (c *callIDs) begin() { c.now = map[string]string{} }

// call returns the ID that is sent for a call. `id` is the ID of the [llm.ToolCall].
func (c *callIDs) call(id string) string {
	if c.used == nil {
		c.used, c.last = map[string]bool{}, map[string]int{}
	}
	valid := validID(id)
	sent := valid
	for n := max(c.last[valid], 1) + 1; c.used[sent]; n++ {
		c.last[valid] = n
		sent = fmt.Sprintf("%s_%d", valid, n)
	}
	c.used[sent], c.now[id] = true, sent
	return sent
}

// result returns the ID that is sent for the result of a call. `id` is the [llm.Message.ToolCallID].
func (c *callIDs) result(id string) string {
	if sent, ok := c.now[id]; ok {
		return sent
	}
	return validID(id) // a result without a call, which the API refuses
}

// validID returns the ID if it matches [callID], and a hash of the ID otherwise.
func validID(id string) string {
	if callID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}
