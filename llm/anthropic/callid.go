package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
)

// callID matches the IDs that the API accepts. The API has no documented limit of the length; longer IDs occur only in the messages
// of other providers.
var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// callIDs makes the IDs of tool calls valid and unique. An [llm.ToolCall] has an ID that is unique only within its message, and that
// may have any characters. An ID that the API accepts stays as it is. If it occurs again in a later message, it gets a number: "a"
// becomes "a_2". Any other ID becomes a hash. The new IDs depend only on the messages so far, so that a longer conversation begins with
// the same bytes. The zero value is ready for use.
type callIDs struct {
	used map[string]bool
	// now maps the IDs of the last message with calls to the IDs that are sent.
	now map[string]string
}

// begin begins a message with tool calls.
func (c *callIDs) begin() { c.now = map[string]string{} }

// call returns the ID that is sent for a call.
func (c *callIDs) call(id string) string {
	if c.used == nil {
		c.used = map[string]bool{}
	}
	valid := validID(id)
	sent := valid
	for n := 2; c.used[sent]; n++ {
		sent = fmt.Sprintf("%s_%d", valid, n)
	}
	c.used[sent], c.now[id] = true, sent
	return sent
}

// result returns the ID that is sent for the result of a call.
func (c *callIDs) result(id string) string {
	if sent, ok := c.now[id]; ok {
		return sent
	}
	return validID(id) // a result without a call, which the API refuses
}

// validID returns the ID, or a hash of it if the API does not accept the ID.
func validID(id string) string {
	if callID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}
