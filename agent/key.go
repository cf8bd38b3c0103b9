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

// This file makes all keys and IDs. Keys are activity IDs, and Temporal compares activity IDs in a replay, so a formula never changes. A
// new formula gets a new key version, and a running agent keeps the version in its state. A new field changes no old key, because absent
// fields are not encoded.

// KeyVersion is the key version of new agents. It is the version of the formulas for keys, of the texts that this package
// writes into transcripts, and of the driver. An agent keeps its key version until its end. CONTRIBUTING.md says how to add a version.
const KeyVersion = 1

// Key identifies an operation by a hash of its content. An operation is work that the agent asks for and whose result it
// needs: a model call, a tool call or a sub-agent. Every run of the agent computes the same key for the same operation.
// Therefore a later run finds the result of an earlier run under the key, and does not run the operation again. A key
// consists of a kind, a hyphen and 32 hexadecimal digits, such as "model-2a5f…". The key of a second late result ends with "-again".
type Key string

// The kinds of keys. The kind is the first part of a key, and says what the key is for.
const (
	KindDefinition = "definition"  // reading the agent's definition
	KindOverrides  = "overrides"   // resolving the overrides of a turn: see ResolveOverrides
	KindModel      = "model"       // a model call
	KindTool       = "tool"        // a tool call
	KindChild      = "agent"       // a sub-agent
	KindState      = "state"       // reading the state of an earlier run
	KindProgress   = "progress"    // reading the progress of a sub-agent
	KindMessages   = "messages"    // searching other runs for messages
	KindFind       = "find"        // searching earlier runs for what became of a call
	KindNotify     = "notify"      // a notification to a hook: see Notification
	KindText       = "text"        // the verdict of a guardrail on a text
	KindLate       = "late_result" // a message with a late result: see LateResult
)

// Kind returns the kind of the key, such as [KindModel]. It returns "" for any other text, such as the message ID of
// a client.
func (k Key) Kind() string {
	kind, _, _ := strings.Cut(string(k), "-")
	switch kind {
	case KindDefinition, KindOverrides, KindModel, KindTool, KindChild, KindState, KindProgress, KindMessages, KindFind, KindNotify, KindText, KindLate:
		return kind
	}
	return ""
}

// Identity is the part that all keys of one agent have in common. It distinguishes the agent from all other agents.
type Identity struct {
	// KeyVersion is the version of the agent's keys and texts: see the constant [KeyVersion].
	KeyVersion int `json:"key_version"`
	// AgentID is the ID of the agent, which is also its workflow ID.
	AgentID string `json:"agent_id"`
	// Incarnation distinguishes agents that have had the same ID at different times. An agent that is started under
	// an old ID gets a new incarnation. All runs of one agent have the same incarnation. A reset, a continue-as-new
	// and a resume do not change it.
	Incarnation string `json:"incarnation"`
}

// key returns the key of an operation (see [Key]) of the given kind. The parameter `content` distinguishes the operation
// from others of the same kind. The content must have a canonical JSON form: see [digest].
func (id Identity) key(kind string, content any) Key {
	return Key(kind + "-" + digest([]any{id.KeyVersion, id.AgentID, id.Incarnation, kind, content})[:32])
}

// PromptCacheKey returns a text that is the same for all model calls of the agent, in all its runs: see [llm.Request]. It is a hash of 32
// hexadecimal digits. Nobody can guess the ID of the agent from it, because the incarnation is random.
func (id Identity) PromptCacheKey() string {
	return digest([]any{"prompt_cache", id.AgentID, id.Incarnation})[:32]
}

// Digest returns 12 hexadecimal digits of a hash of the definition, so that people find the agents that have another definition than the
// newest one. Definitions that are equal have the same digest. It is shown, and never a part of a key.
func (d *Definition) Digest() string { return digest(d)[:12] }

func (id Identity) definitionKey(agent string, reloads int) Key {
	return id.key(KindDefinition, struct {
		Agent   string `json:"agent"`
		Reloads int    `json:"reloads,omitempty"`
	}{agent, reloads})
}

// ModelIdentity is the part that the keys of an agent's model calls have in common while the agent has the same definition. The
// key of a model call is a hash of this part and of the messages that the call sends. Therefore a worker can check that a
// request belongs to a key.
type ModelIdentity struct {
	Identity
	// PrefixHash is a hash of the part that all these requests have in common: see [HashPrefix].
	PrefixHash string `json:"prefix_hash"`
}

// Key returns the key of a model call. The parameter `chain` is the hash of the messages that the call sends: see
// [HashMessages].
func (o ModelIdentity) Key(chain string) Key {
	return o.key(KindModel, struct {
		PrefixHash     string `json:"prefix_hash"`
		TranscriptHash string `json:"transcript_hash"`
	}{o.PrefixHash, chain})
}

// modelKey is a key of a model call, and the values from which it was computed.
type modelKey struct {
	origin ModelIdentity
	chain  string
	key    Key
}

// modelKey returns the key of the agent's next model call. It computes the key again only if the transcript has changed,
// because [State.Next] asks for the key many times.
func (s *State) modelKey() Key {
	if origin := s.ModelIdentity(); s.lastKey.origin != origin || s.lastKey.chain != s.TranscriptHash || s.lastKey.key == "" {
		s.lastKey = modelKey{origin, s.TranscriptHash, origin.Key(s.TranscriptHash)}
	}
	return s.lastKey.key
}

// ToolKey returns the key of a tool call, which is a hash of all parameters. `model` is the key of the model call
// whose reply asks for the tool call. `position` is the index of the tool call in this reply. The index distinguishes
// two equal calls in one reply. The provider's call ID is not part of the key, because a provider may give the same
// ID to several calls. `caller` is the caller's reference ([CallerReference]), or "". So calls for different callers have different keys,
// and no caller gets the result of a call for another one.
func (id Identity) ToolKey(model Key, position int, name, arguments, caller string) Key {
	content := struct {
		Model     Key             `json:"model"`
		Position  int             `json:"position"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Text      *string         `json:"text,omitempty"`
		Caller    string          `json:"caller,omitempty"`
	}{Model: model, Position: position, Tool: name, Caller: caller}
	if _, err := canon.Text([]byte(arguments)); err == nil {
		content.Arguments = json.RawMessage(arguments)
	} else {
		content.Text = &arguments
	}
	return id.key(KindTool, content)
}

// textKey returns the key of the verdict of the first guardrail of t.Left. The place of the text is a part of it: the same text may come
// again, and is judged again.
func (id Identity) textKey(t TextCheck) Key {
	return id.key(KindText, struct {
		Guardrail string   `json:"guardrail"`
		Kind      TextKind `json:"kind"`
		Of        Key      `json:"of"`
		Text      string   `json:"text"`
	}{t.Left[0], t.Kind, t.Of, t.Text})
}

// AnsweredKey returns the key of a call that runs again, because a person has answered a question of its tool. `asked` is the key that the
// call had when its tool asked.
func (id Identity) AnsweredKey(asked Key, answer GivenResult) Key {
	return id.key(KindTool, struct {
		Asked  Key         `json:"asked"`
		Answer GivenResult `json:"answer"`
	}{asked, answer})
}

// StateKey returns the key of the activity that reads one page of an earlier run's state. The new run begins with this
// state. [Start].From names the earlier run. The parameter `id` is the identity of the agent in the new run. The first
// page is page 0.
func (in Start) StateKey(id Identity, page int) Key {
	return id.key(KindState, struct {
		RunID string `json:"run_id"`
		Page  int    `json:"page,omitempty"`
	}{in.From.RunID, page})
}

// ProgressKey returns the key of the activity that reads the progress of a sub-agent. The parameter `call` is the key of
// the call that waits for the sub-agent. The activity only reads. Therefore it may run several times under this key.
func ProgressKey(call Key) Key { return KindProgress + call[strings.IndexByte(string(call), '-'):] }

// FindKey returns the key of an activity that searches earlier runs for what became of a call: see [CallRecord]. The parameter `call` is
// the key of this call. The activity only reads. Therefore it may run several times under this key.
func FindKey(call Key) Key { return KindFind + call[strings.IndexByte(string(call), '-'):] }

// lateKey returns the key of the message with a late result (see [LateResult]) of the call with the given key. One call may have two such
// messages. The first brings the failure of its sub-agent. If `again` is true, lateKey returns the key of the second one, which brings the
// answer of the resumed sub-agent.
func lateKey(call Key, again bool) Key {
	key := KindLate + call[strings.IndexByte(string(call), '-'):]
	if again {
		key += "-again"
	}
	return key
}

// childInput says what a sub-agent is to do. Two calls with equal inputs ask for the same work.
type childInput struct {
	// Agent is the name of the sub-agent's definition.
	Agent string `json:"agent"`
	// Task is the task, in the model's words. Other words make another sub-agent.
	Task string `json:"task"`
	// Instance is a name of the model's choice. Another name makes a second sub-agent for the same task.
	Instance string `json:"instance,omitempty"`
	// Caller is the reference of the caller for whom the sub-agent works: see [CallerReference]. Another caller gets another sub-agent.
	Caller string `json:"caller,omitempty"`
}

func (id Identity) childKey(input childInput, ordinal int) Key {
	return id.key(KindChild, struct {
		Input   childInput `json:"input"`
		Ordinal int        `json:"ordinal,omitempty"`
	}{input, ordinal})
}

// ChildID returns the workflow ID of a sub-agent. The ID contains the parent's ID, the name of the sub-agent's
// definition and a part of the sub-agent's key. The memo of the sub-agent's workflow contains the whole key.
func ChildID(parentID, name string, key Key) string {
	digits := string(key[len(KindChild)+1:])
	return parentID + "/" + name + "-" + digits[:16]
}

// ChildIncarnation returns the incarnation of the sub-agent with the given key: see [Identity]. It depends only on
// the key. Therefore the incarnation stays the same if a parent asks for the sub-agent again after a reset.
func ChildIncarnation(key Key) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(key)).String()
}

// HashPrefix returns a hash of the part that all requests with one definition have in common: see [Definition.RequestPrefix].
func HashPrefix(head llm.Request) string { return digest(head) }

// HashMessages returns the hash of a list of messages. The list consists of earlier messages and the given messages.
// The parameter `previous` is the hash of the earlier messages; "" if there are none. Only the given messages are
// hashed. Therefore the time does not grow with the list.
func HashMessages(previous string, messages ...llm.Message) string {
	for _, m := range messages {
		previous = digest([]any{previous, m})
	}
	return previous
}

// digest returns the SHA-256 of the canonical JSON of v, in hexadecimal. It panics if v has no canonical JSON. No
// value of this package's types causes a panic: strings are made valid UTF-8, and schemas are checked earlier.
func digest(v any) string {
	text, err := canon.Value(v)
	if err != nil {
		panic("agent: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
