package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/reagent-dev/reagent/internal/canon"
	"github.com/reagent-dev/reagent/llm"
)

// This file makes every identity. Keys are activity IDs, which Temporal compares on
// replay, so a formula never changes: a new one gets a new version, agents that run keep the
// version pinned in their state, and absent fields are not encoded.

// KeyVersion is the version of the key formulas, and of the texts in text.go, that
// new agents use. Version 2 changed two texts; the formulas are those of version 1.
const KeyVersion = 2

// Key names one effect by its content: "model-" or another kind, and 32
// hexadecimal digits.
type Key string

// The kinds of keys.
const (
	KindDefinition = "definition"
	KindModel      = "model"
	KindTool       = "tool"
	KindChild      = "agent"
	KindState      = "state"
	KindLook       = "look"
	KindMessages   = "messages"
	KindRecall     = "recall"
)

// Kind returns what the key names: one of the Kind constants, or "" for another text.
func (k Key) Kind() string {
	kind, _, _ := strings.Cut(string(k), "-")
	switch kind {
	case KindDefinition, KindModel, KindTool, KindChild, KindState, KindLook, KindMessages, KindRecall:
		return kind
	}
	return ""
}

// Identity is the part that all keys of one agent have in common.
type Identity struct {
	KeyVersion int    `json:"key_version"`
	AgentID    string `json:"agent_id"`
	// Incarnation tells two agents of one ID apart: it is new when an ID is started afresh and
	// stays over a reset, a continue-as-new and a resume.
	Incarnation string `json:"life"`
}

// key hashes content, which must be plain data with a JSON form.
func (id Identity) key(kind string, content any) Key {
	return Key(kind + "-" + digest([]any{id.KeyVersion, id.AgentID, id.Incarnation, kind, content})[:32])
}

func (id Identity) definitionKey(agent string, reloads int) Key {
	return id.key(KindDefinition, struct {
		Agent   string `json:"agent"`
		Reloads int    `json:"reloads,omitempty"`
	}{agent, reloads})
}

// ModelIdentity is the part that the keys of an agent's model calls have in common. Together with the chain over the messages
// it makes a call's key, so that a request can be told by its key.
type ModelIdentity struct {
	Identity
	PrefixHash string `json:"head"` // HeadHash of what is sent beside the messages
}

// Key returns the key of the model call that sends the messages with the given [Chain].
func (o ModelIdentity) Key(chain string) Key {
	return o.key(KindModel, struct {
		Head  string `json:"head"`
		Chain string `json:"chain"`
	}{o.PrefixHash, chain})
}

// toolKey takes the position in the reply, because equal calls made on purpose are
// two, and not the provider's call ID, because providers reuse it.
func (id Identity) toolKey(model Key, position int, name, arguments string) Key {
	content := struct {
		Model     Key             `json:"model"`
		Position  int             `json:"position"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Text      *string         `json:"text,omitempty"`
	}{Model: model, Position: position, Tool: name}
	if _, err := canon.Text([]byte(arguments)); err == nil {
		content.Arguments = json.RawMessage(arguments)
	} else {
		content.Text = &arguments
	}
	return id.key(KindTool, content)
}

// StateKey names a page of the state that a run reads from an earlier one.
func (in Start) StateKey(id Identity, page int) Key {
	return id.key(KindState, struct {
		RunID string `json:"run_id"`
		Page  int    `json:"page,omitempty"`
	}{in.From.RunID, page})
}

// LookKey names the look at the sub-agent that a call waits for. It is no effect, so it may come again.
func LookKey(call Key) Key { return KindLook + call[strings.IndexByte(string(call), '-'):] }

// RecallKey names the look into earlier runs for the result of a call for a sub-agent. It is no effect, so it may come again.
func RecallKey(call Key) Key { return KindRecall + call[strings.IndexByte(string(call), '-'):] }

// childInput is what makes two requests for a sub-agent the same request.
type childInput struct {
	Agent    string `json:"agent"`
	Task     string `json:"task"`
	Instance string `json:"instance,omitempty"`
}

func (id Identity) childKey(input childInput, ordinal int) Key {
	return id.key(KindChild, struct {
		Input   childInput `json:"input"`
		Ordinal int        `json:"ordinal,omitempty"`
	}{input, ordinal})
}

// ChildID returns the workflow ID of the sub-agent with the given name and key. It
// shows a part of the key only; the whole one stands in the child's memo.
func ChildID(parentID, name string, key Key) string {
	digits := string(key[len(KindChild)+1:])
	return parentID + "/" + name + "-" + digits[:16]
}

// ChildIncarnation returns the life of the sub-agent with the given key, so that a
// parent that starts it again, after a reset, means the same one.
func ChildIncarnation(key Key) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(key)).String()
}

// HashPrefix returns the hash of everything of a request but its messages other than the
// system message: see [Definition.RequestPrefix].
func HashPrefix(head llm.Request) string { return digest(head) }

// HashMessages returns the hash of a transcript: of one whose hash is previous, followed by messages. The hash of an empty transcript is "".
// So the hash of a request costs the time of its new messages only.
func HashMessages(previous string, messages ...llm.Message) string {
	for _, m := range messages {
		previous = digest([]any{previous, m})
	}
	return previous
}

// digest returns the SHA-256 of v's canonical JSON in hexadecimal. It panics if
// v has none, which no value of this package's own types can cause: strings are made valid UTF-8 and
// schemas are checked before they come here.
func digest(v any) string {
	text, err := canon.Value(v)
	if err != nil {
		panic("agent: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
