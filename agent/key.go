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

// This file makes all keys and IDs. Keys are activity IDs, and Temporal compares activity IDs in a replay. So a formula
// never changes. A new formula gets a new key version, and a running agent keeps the version in its state. Absent fields
// are not encoded, so a new field changes no old key.

// KeyVersion is the key version of new agents. It is the version of the key formulas and of the texts in text.go.
// Version 2 changed two texts; its formulas are those of version 1.
const KeyVersion = 2

// Key identifies one effect by its content. It consists of a kind, a hyphen and 32 hexadecimal digits: "model-2a5f…".
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

// Kind returns the kind of the key, one of the Kind constants. It returns "" for any other text, such as the message ID
// of a client.
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
	// Incarnation distinguishes two agents that have had the same ID. It is new when an agent is started under an old
	// ID. It stays the same over a reset, a continue-as-new and a resume.
	Incarnation string `json:"life"`
}

// key returns the key of an effect of the given kind. The parameter content holds what distinguishes the effect from
// others of its kind. It must have a canonical JSON form: see digest.
func (id Identity) key(kind string, content any) Key {
	return Key(kind + "-" + digest([]any{id.KeyVersion, id.AgentID, id.Incarnation, kind, content})[:32])
}

func (id Identity) definitionKey(agent string, reloads int) Key {
	return id.key(KindDefinition, struct {
		Agent   string `json:"agent"`
		Reloads int    `json:"reloads,omitempty"`
	}{agent, reloads})
}

// ModelIdentity is the part that the keys of an agent's model calls have in common. The key of a model call is a hash
// of its ModelIdentity and its transcript hash, so a worker can check a request against the key.
type ModelIdentity struct {
	Identity
	PrefixHash string `json:"head"` // the prefix hash: see HashPrefix
}

// Key returns the key of a model call. The parameter chain is the transcript hash of the messages that the call sends:
// see [HashMessages].
func (o ModelIdentity) Key(chain string) Key {
	return o.key(KindModel, struct {
		Head  string `json:"head"`
		Chain string `json:"chain"`
	}{o.PrefixHash, chain})
}

// toolKey returns the key of a tool call. The parameter model is the key of the model call that was answered with the
// tool call. The parameter position is the position of the tool call in the reply. The key depends on the position,
// because two equal calls in one reply are two effects. It does not depend on the provider's call ID, because a
// provider may give the same ID to several calls.
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

// StateKey returns the key of the activity that reads a page of the state of the run in.From. Pages count from 0.
func (in Start) StateKey(id Identity, page int) Key {
	return id.key(KindState, struct {
		RunID string `json:"run_id"`
		Page  int    `json:"page,omitempty"`
	}{in.From.RunID, page})
}

// LookKey returns the key of the activity that reads the progress of the sub-agent for which the given call waits. The
// activity is not an effect, so it may run several times under this key.
func LookKey(call Key) Key { return KindLook + call[strings.IndexByte(string(call), '-'):] }

// RecallKey returns the key of the activity that searches earlier runs for the result of a call for a sub-agent. The
// activity is not an effect, so it may run several times under this key.
func RecallKey(call Key) Key { return KindRecall + call[strings.IndexByte(string(call), '-'):] }

// childInput is the part of a call for a sub-agent that says what the sub-agent is to do. Two calls with equal
// childInputs ask for the same work.
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

// ChildID returns the workflow ID of the sub-agent with the given definition name and key. The ID contains only a part
// of the key; the memo of the sub-agent's workflow contains the whole key.
func ChildID(parentID, name string, key Key) string {
	digits := string(key[len(KindChild)+1:])
	return parentID + "/" + name + "-" + digits[:16]
}

// ChildIncarnation returns the incarnation of the sub-agent with the given key. It depends only on the key. So if a
// parent asks for the sub-agent again after a reset, the incarnation is the same.
func ChildIncarnation(key Key) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(key)).String()
}

// HashPrefix returns the prefix hash, which is the hash of a request prefix. The parameter head is the request prefix:
// see [Definition.RequestPrefix].
func HashPrefix(head llm.Request) string { return digest(head) }

// HashMessages returns the transcript hash of a transcript that consists of earlier messages and the given messages.
// The parameter previous is the transcript hash of the earlier messages; "" if there are none. Only the given messages
// are hashed, so the time does not grow with the transcript.
func HashMessages(previous string, messages ...llm.Message) string {
	for _, m := range messages {
		previous = digest([]any{previous, m})
	}
	return previous
}

// digest returns the SHA-256 of v's canonical JSON in hexadecimal. It panics if v has no canonical JSON. No value of
// this package's own types causes this: strings are made valid UTF-8, and schemas are checked earlier.
func digest(v any) string {
	text, err := canon.Value(v)
	if err != nil {
		panic("agent: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
