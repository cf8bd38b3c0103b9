package standin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// posted is a request as a [Provider] sees it: the decoded body, and the JSON members that [request] does not have.
type posted struct {
	*request
	url    *url.URL
	fields map[string]json.RawMessage   // the members of the body
	each   []map[string]json.RawMessage // the members of each message
	digest string                       // the digest of the body, as a hexadecimal number
}

// newPosted takes the decoded body, its JSON, and the URL of the request, which may be nil.
func newPosted(r *request, body []byte, at *url.URL) *posted {
	p := &posted{request: r, url: at, digest: fmt.Sprintf("%016x", digest(string(body)))}
	_ = json.Unmarshal(body, &p.fields) // readRequest has reported errors
	_ = json.Unmarshal(p.fields["messages"], &p.each)
	return p
}

// thinks reports whether the request leaves the thinking of the model on. It is on unless the body has
// "thinking":{"type":"disabled"}. DeepSeek and Kimi have this member.
func (r *posted) thinks() bool {
	var thinking struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(r.fields["thinking"], &thinking)
	return thinking.Type != "disabled"
}

// outputFormat returns the type in `response_format`; "" if the request has none, or the type text.
func (r *posted) outputFormat() string {
	var format struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(r.fields["response_format"], &format)
	if format.Type == "text" {
		return ""
	}
	return format.Type
}

// says reports whether a message contains a word, in any case.
func (r *posted) says(word string) bool {
	return strings.Contains(strings.ToLower(string(r.fields["messages"])), word)
}

// turn returns the index of the first message after the last user message.
func (r *posted) turn() int {
	at := 0
	for i, m := range r.Messages {
		if m.Role == "user" {
			at = i + 1
		}
	}
	return at
}

// calls returns the members of the tool calls of message number `i`.
func (r *posted) calls(i int) []map[string]json.RawMessage {
	var all []map[string]json.RawMessage
	_ = json.Unmarshal(r.each[i]["tool_calls"], &all)
	return all
}

// text returns the member `name` of message number `i`, if the member is a string. `found` says whether it is one.
func (r *posted) text(i int, name string) (text string, found bool) {
	raw, there := r.each[i][name]
	if !there || string(raw) == "null" {
		return "", false
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// key returns the key of a message for [Provider.remember]: the IDs of the tool calls. For a message without calls, it is the text
// without its outer white space.
func key(m llm.Message) string {
	if len(m.ToolCalls) == 0 {
		return "text\x00" + strings.TrimSpace(m.Content)
	}
	all := []string{"calls"}
	for _, call := range m.ToolCalls {
		all = append(all, call.ID)
	}
	return strings.Join(all, "\x00")
}

// thought returns the reasoning of a reply. If the reply has none, thought returns a text that depends only on the body of the
// request.
func (r *posted) thought(reply llm.Reply) string {
	if reply.Message.Reasoning != "" {
		return reply.Message.Reasoning
	}
	return "I think about request " + r.digest + "."
}

func sorted(object map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(object)) }
