package endpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
)

// callID matches the IDs that both Anthropic's Messages API and OpenAI's Responses API accept. The limit of 64 characters is that of the
// Responses API.
var callID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CallIDs makes the IDs of tool calls valid and unique in a request. This is necessary because the ID of an [llm.ToolCall] is unique only
// within its message, and may have any characters.
//   - A valid ID is sent unchanged. A hash replaces any other ID.
//   - If an earlier call of the request was sent with the same ID, the new call gets a number: the second "a" becomes "a_2".
//
// The IDs depend only on the earlier messages, so a longer conversation begins with the same bytes. The zero value is ready for use. A
// CallIDs value is not safe for concurrent use.
type CallIDs struct {
	used   map[string]bool   // the IDs that were sent
	number map[string]int    // a valid ID → the number of its last use
	last   map[string]string // the call's ID → the ID that was sent for its last use
}

// Call returns the ID to send for a new call. `id` is the ID of the [llm.ToolCall].
func (c *CallIDs) Call(id string) string {
	if c.used == nil {
		c.used, c.number, c.last = map[string]bool{}, map[string]int{}, map[string]string{}
	}
	valid := validCallID(id)
	sent := valid
	for n := max(c.number[valid], 1) + 1; c.used[sent]; n++ {
		c.number[valid] = n
		sent = validCallID(fmt.Sprintf("%s_%d", valid, n))
	}
	c.used[sent], c.last[id] = true, sent
	return sent
}

// Result returns the ID to send for the result of the last call with the given ID.
func (c *CallIDs) Result(id string) string {
	return cmp.Or(c.last[id], validCallID(id)) // the API refuses a result without a call
}

func validCallID(id string) string {
	if callID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}
