package gateway

import (
	"encoding/base64"
	"strings"

	"github.com/reagent-dev/reagent/internal/exact"
)

// responseRef is what the ID of a response says: the agent, and where the section begins that is the response. So no replica has to remember
// responses, and a response exists as long as Temporal keeps the agent.
type responseRef struct {
	Agent string `json:"a"`
	start
}

const responsePrefix, conversationPrefix = "resp_", "conv_"

var idEncoding = base64.RawURLEncoding

// maxIDBytes is more than an ID with the longest agent ID and message ID has.
const maxIDBytes = 1000

func (r responseRef) id() string { return responsePrefix + idEncoding.EncodeToString(mustJSON(r)) }

// parseResponseID returns false if the text is not the ID of a response.
func parseResponseID(id string) (r responseRef, ok bool) {
	data, ok := decodeID(id, responsePrefix)
	if !ok || exact.Decode(data, &r, 0) != nil || r.Agent == "" || (r.Message == "") == (r.Reply == "") {
		return responseRef{}, false
	}
	return r, r.id() == id // one ID for each response
}

// itemID makes the ID of an item of the response. It says which response this is: many clients send items back instead of the response's ID.
func (r responseRef) itemID(prefix, key string) string {
	return prefix + strings.TrimPrefix(r.id(), responsePrefix) + "." + key
}

// parseItemID returns the response to which an item belongs, and the key of the item in it.
func parseItemID(id string) (of responseRef, key string, ok bool) {
	id, key, ok = strings.Cut(id, ".")
	if _, id, _ = strings.Cut(id, "_"); !ok {
		return of, "", false
	}
	of, ok = parseResponseID(responsePrefix + id)
	return of, key, ok
}

func decodeID(id, prefix string) ([]byte, bool) {
	text, found := strings.CutPrefix(id, prefix)
	if !found || len(id) > maxIDBytes {
		return nil, false
	}
	data, err := idEncoding.DecodeString(text)
	return data, err == nil
}

func conversationID(agentID string) string {
	return conversationPrefix + idEncoding.EncodeToString([]byte(agentID))
}

// parseConversationID returns the ID of the agent.
func parseConversationID(id string) (string, bool) {
	data, ok := decodeID(id, conversationPrefix)
	return string(data), ok && len(data) > 0
}
