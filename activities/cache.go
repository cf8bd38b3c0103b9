package activities

import (
	"github.com/maypok86/otter/v2"

	"github.com/reagent-dev/reagent/activities/internal/bounded"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
)

// transcript holds the messages of one agent. A worker caches them for the agent's next request.
type transcript struct {
	// origin is the part of a request's key that does not depend on the messages.
	origin agent.ModelIdentity
	// chain is the hash of the messages: see [agent.HashMessages].
	chain string
	// messages are extended in place by [transcript.extended]. Therefore only one activity may use the slice at a time.
	messages []llm.Message
	// bytes is the approximate size of the messages in memory.
	bytes int
}

// extended returns the transcript with the given messages appended. It may write into the array behind the field `messages`.
func (t transcript) extended(more []llm.Message) transcript {
	t.chain = agent.HashMessages(t.chain, more...)
	t.bytes += weight(more)
	t.messages = append(t.messages, more...)
	return t
}

// cache holds parts of requests, so that activities send fewer queries to their workflows. If an entry is lost, an activity
// only needs one more query. A cache is safe for concurrent use.
type cache struct {
	transcripts *otter.Cache[string, transcript]
	// heads holds request prefixes by the hash of the prefix.
	heads *otter.Cache[string, llm.Request]
	// answers holds the results of tool calls.
	answers *otter.Cache[call, llm.Message]
}

// call identifies a tool call in the cache, by its agent and by the ID that the provider gave the call. A later reply may use
// the same ID for another call.
type call struct{ agentID, id string }

func newCache(bytes int) *cache {
	return &cache{
		transcripts: bounded.Cache(bytes/2, func(_ string, t transcript) int { return entryBytes + originBytes + t.bytes }),
		heads:       bounded.Cache(bytes/4, func(_ string, head llm.Request) int { return payload.Size(head) }),
		answers:     bounded.Cache(bytes/4, func(_ call, m llm.Message) int { return entryBytes + weight([]llm.Message{m}) }),
	}
}

// take removes the transcript of an agent from the cache and returns it, so that no other activity can use it at the same
// time. If the cache has no transcript of the agent, the result is empty.
func (c *cache) take(agentID string) transcript {
	t, _ := c.transcripts.Invalidate(agentID)
	return t
}

// extend appends a model's reply to the cached transcript of an agent, for the agent's next request. `t` is the transcript
// that was sent to the model. If the cached transcript is a different one, extend removes it instead.
func (c *cache) extend(agentID string, t transcript, reply llm.Message) {
	if now := c.take(agentID); now.chain == t.chain {
		c.transcripts.Set(agentID, now.extended([]llm.Message{reply}))
	}
}

func (c *cache) putResult(agentID string, result llm.Message) {
	c.answers.Set(call{agentID, result.ToolCallID}, result)
}

// results returns the cached results of the tool calls in the last message, in the order of the calls. It stops at the first
// call that has no cached result.
//
// A cached result may belong to another call with the same ID. So the caller must check the key of the request that it makes
// with these results: the key is a hash of the request.
func (c *cache) results(agentID string, messages []llm.Message) []llm.Message {
	if len(messages) == 0 {
		return nil
	}
	var results []llm.Message
	for _, asked := range messages[len(messages)-1].ToolCalls {
		m, ok := c.answers.GetIfPresent(call{agentID, asked.ID})
		if !ok {
			break
		}
		results = append(results, m)
	}
	return results
}

// These are the approximate sizes in memory, in bytes, of what the caches hold besides texts. Without them, the entries of many agents
// with short texts would need several times the memory that the caches may use.
const (
	// entryBytes is the size of an entry of a cache, with its key.
	entryBytes = 150
	// originBytes is the size of the hashes and IDs of a [transcript].
	originBytes = 350
	// messageBytes is the size of a message without its texts. It includes the unused capacity of the transcript's slice, which can
	// be as large as the used capacity.
	messageBytes = 200
)

// weight returns the approximate size of messages in memory, in bytes.
func weight(messages []llm.Message) int {
	size := 0
	for _, m := range messages {
		size += messageBytes + len(m.Content) + len(m.Reasoning) + len(m.Opaque.Data)
		for _, call := range m.ToolCalls {
			size += 100 + len(call.Arguments) + len(call.Opaque.Data)
		}
	}
	return size
}
