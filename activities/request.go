package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/maypok86/otter/v2"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
)

const (
	// queryTimeout bounds one question to the workflow.
	queryTimeout = 3 * time.Second
	// queryPatience bounds how long an activity asks on. A worker that restarts is back sooner.
	queryPatience = 30 * time.Second
)

// assemble returns the request whose key is the activity's ID: from this worker's cache, from
// the messages that came along, and for the rest from the workflow itself. The key tells whether it
// is the right one. With it goes what the cache holds of it.
func (a *Activities) assemble(ctx context.Context, in protocol.CallModelInput) (llm.Request, transcript, error) {
	id, key := names(ctx)
	var known transcript
	if !in.Compact {
		known = a.cache.take(id)
	}
	if known.count() > in.Count {
		known = transcript{}
	}
	if in.Origin != nil {
		known.origin = *in.Origin
	}
	// The results may be those of other calls with the same IDs, or not what the transcript made of them; what is
	// known may be of another branch, from before a reset or a compaction. What the workflow says is right.
	type draft struct {
		known          transcript
		results, delta []llm.Message
	}
	drafts := []draft{{known, nil, in.Delta}, {}}
	if results := a.cache.results(id, known.messages); len(results) > 0 {
		drafts = append([]draft{{known, results, in.Delta}}, drafts...)
	}
	for _, d := range drafts {
		t, err := a.complete(ctx, in, d.known, d.results, d.delta)
		if err != nil {
			return llm.Request{}, t, err
		}
		if t.origin.Key(t.chain) != key {
			continue
		}
		req, err := a.head(ctx, t.origin.PrefixHash, in.Compact)
		if err != nil {
			return req, t, err
		}
		if !in.Compact {
			a.cache.put(id, t)
		}
		req.Messages = append(slices.Clip(req.Messages), t.messages...)
		return req, t, nil
	}
	return llm.Request{}, known, temporal.NewNonRetryableApplicationError(
		"what the workflow holds does not make the key of the request that it asked to send", protocol.Mismatch, nil)
}

// complete returns all messages of the request: those known, the results that follow them, what the workflow has
// between those and delta, and delta.
func (a *Activities) complete(ctx context.Context, in protocol.CallModelInput, t transcript, results, delta []llm.Message) (transcript, error) {
	messages := t.messages
	messages = append(messages, results[:min(len(results), in.Count-t.count())]...)
	for upTo := in.Count - len(delta); len(messages) < upTo; {
		page, err := a.read(ctx, protocol.RequestInput{From: len(messages), Count: upTo, Compact: in.Compact})
		if err != nil {
			return t, err
		}
		if len(page.Messages) == 0 {
			return t, temporal.NewNonRetryableApplicationError(
				fmt.Sprintf("the workflow holds %d messages, not the %d that it asked to send", len(messages), upTo), protocol.Mismatch, nil)
		}
		t.origin, messages = page.Origin, append(messages, page.Messages...)
	}
	messages = append(messages, delta[len(delta)-(in.Count-len(messages)):]...)
	return t.extended(messages[t.count():]), nil
}

// head returns everything of the request but its messages.
func (a *Activities) head(ctx context.Context, hash string, compact bool) (llm.Request, error) {
	if head, ok := a.cache.head(hash); ok {
		return head, nil
	}
	page, err := a.read(ctx, protocol.RequestInput{Head: true, Compact: compact})
	if err != nil {
		return llm.Request{}, err
	}
	if page.Head == nil || agent.HashPrefix(*page.Head) != hash {
		return llm.Request{}, temporal.NewNonRetryableApplicationError(
			"the definition of the workflow does not have the hash that it asked to send", protocol.Mismatch, nil)
	}
	a.cache.putHead(hash, *page.Head)
	return *page.Head, nil
}

// read queries this activity's own workflow. A query that fails is not an attempt at
// the model: it is asked again, here, while the worker runs.
func (a *Activities) read(ctx context.Context, in protocol.RequestInput) (protocol.RequestPage, error) {
	execution := activity.GetInfo(ctx).WorkflowExecution
	stop := activity.GetWorkerStopChannel(ctx)
	patience := time.NewTimer(queryPatience)
	defer patience.Stop()
	pause := 50 * time.Millisecond
	for {
		page, err := a.query(ctx, execution.ID, execution.RunID, in)
		if err == nil {
			return page, nil
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
			pause = min(2*pause, 2*time.Second)
			continue
		case <-patience.C:
		case <-stop:
		case <-ctx.Done():
		}
		again.Stop()
		return page, temporal.NewApplicationErrorWithOptions(
			"the workflow did not tell what is to be sent: "+err.Error(), protocol.Unavailable,
			temporal.ApplicationErrorOptions{NextRetryDelay: time.Second})
	}
}

func (a *Activities) query(ctx context.Context, workflowID, runID string, in protocol.RequestInput) (protocol.RequestPage, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var page protocol.RequestPage
	value, err := a.temporal.QueryWorkflow(ctx, workflowID, runID, protocol.RequestQuery, in)
	if err != nil {
		return page, err
	}
	return page, value.Get(&page)
}

// transcript holds the messages of one agent that this worker remembers.
type transcript struct {
	origin   agent.ModelIdentity
	chain    string
	messages []llm.Message // appended to in place, so one activity has it at a time
	bytes    int           // about what the messages take
}

func (t transcript) count() int { return len(t.messages) }

// extended returns t with more messages at its end.
func (t transcript) extended(more []llm.Message) transcript {
	t.chain = agent.HashMessages(t.chain, more...)
	t.bytes += weight(more)
	t.messages = append(t.messages, more...)
	return t
}

// cache spares an activity the question to its workflow. Losing an entry costs
// that question and nothing else.
type cache struct {
	transcripts *otter.Cache[string, transcript]
	heads       *otter.Cache[string, llm.Request]
	answers     *otter.Cache[call, llm.Message]
}

// call is a tool call as a provider names it. The name may come again with a later reply.
type call struct{ agentID, id string }

func newCache(bytes int) (*cache, error) {
	transcripts, err := otter.New(&otter.Options[string, transcript]{
		MaximumWeight: uint64(bytes) / 2,
		Weigher:       func(_ string, t transcript) uint32 { return uint32(t.bytes) },
	})
	if err != nil {
		return nil, err
	}
	heads, err := otter.New(&otter.Options[string, llm.Request]{
		MaximumWeight: uint64(bytes) / 4,
		Weigher: func(_ string, head llm.Request) uint32 {
			return uint32(payload.Size(head))
		},
	})
	if err != nil {
		return nil, err
	}
	answers, err := otter.New(&otter.Options[call, llm.Message]{
		MaximumWeight: uint64(bytes) / 4,
		Weigher:       func(_ call, m llm.Message) uint32 { return uint32(weight([]llm.Message{m})) },
	})
	return &cache{transcripts, heads, answers}, err
}

// take returns what is remembered of an agent's messages, and leaves nothing until it is put back.
func (c *cache) take(agentID string) transcript {
	t, _ := c.transcripts.Invalidate(agentID)
	return t
}

func (c *cache) put(agentID string, t transcript) { c.transcripts.Set(agentID, t) }

// extend adds the reply to the request that t was the whole of.
func (c *cache) extend(agentID string, t transcript, reply llm.Message) {
	if now := c.take(agentID); now.chain == t.chain {
		c.put(agentID, now.extended([]llm.Message{reply}))
	}
}

func (c *cache) head(hash string) (llm.Request, bool) { return c.heads.GetIfPresent(hash) }

func (c *cache) putHead(hash string, head llm.Request) { c.heads.Set(hash, head) }

func (c *cache) putResult(agentID string, result llm.Message) {
	c.answers.Set(call{agentID, result.ToolCallID}, result)
}

// results returns what this worker has of the results that follow messages, up to the first
// that it has not. They may be those of other calls: the hash tells.
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

func weight(messages []llm.Message) int {
	size := 0
	for _, m := range messages {
		size += 100 + len(m.Content)
		for _, call := range m.ToolCalls {
			size += 100 + len(call.Arguments)
		}
	}
	return size
}
