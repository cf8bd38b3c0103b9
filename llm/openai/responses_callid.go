package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
)

// callIDs maps the IDs of tool calls to the IDs that are sent to the Responses API. The ID of a call and that of its result are mapped
// in the same way. The mapping depends only on the earlier calls of the conversation, so the beginning of a conversation is always
// sent with the same bytes. The zero value is ready for use.
//
// The API has two rules that other APIs do not have. An ID has at most 64 characters, and it is unique in the request.
type callIDs struct {
	current map[string]string // the call's ID → the ID that was sent for its last use
	taken   map[string]bool   // the IDs that were sent
	last    map[string]int    // the call's ID → the number of its last use
}

// responsesCallID matches the IDs that are sent unchanged.
var responsesCallID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// add returns the ID to send for a new call. If the ID was sent for an earlier call, add appends a number.
func (c *callIDs) add(id string) string {
	if c.current == nil {
		c.current, c.taken, c.last = map[string]string{}, map[string]bool{}, map[string]int{}
	}
	sent := sendableCallID(id)
	for n := max(c.last[sent], 1) + 1; c.taken[sent]; n++ {
		c.last[sendableCallID(id)] = n
		sent = sendableCallID(fmt.Sprintf("%s_%d", sendableCallID(id), n))
	}
	c.current[id], c.taken[sent] = sent, true
	return sent
}

// of returns the ID to send for the result of the last call with the given ID.
func (c *callIDs) of(id string) string {
	if sent, ok := c.current[id]; ok {
		return sent
	}
	return sendableCallID(id)
}

// sendableCallID returns an ID that the API accepts: the ID itself or, if it is too long or has other characters, a hash of it.
func sendableCallID(id string) string {
	if responsesCallID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}
