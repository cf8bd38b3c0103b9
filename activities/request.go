package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

const (
	queryTimeout = 3 * time.Second
	// queryPatience limits how long an activity repeats a query that fails. A worker that restarts answers queries again sooner.
	queryPatience = 30 * time.Second
)

// assemble returns the request that the activity sends to the model. It also returns the messages of this request as a
// transcript. The activity's input contains only a part of the request. assemble takes other messages from this worker's
// cache, and queries the workflow for the messages that are still missing. It caches the transcript for the next request, but
// not that of a summary or an aside.
//
// Cached messages may be wrong. Therefore assemble checks the request: its key, a hash of its content, must be the
// activity's ID. If it is not, assemble makes the request again with fewer cached messages, and in the end with none. If the
// key is still wrong, the error has the type [protocol.Mismatch].
func (a *Activities) assemble(ctx context.Context, in protocol.CallModelInput) (llm.Request, transcript, error) {
	id, key := names(ctx)
	var known transcript
	if !in.Compact && !in.Aside {
		known = a.cache.take(id)
	}
	if len(known.messages) > in.Count {
		known = transcript{}
	}
	if in.Origin != nil {
		known.origin = *in.Origin
	}
	// A draft that uses the cache may be wrong. The cached results may belong to other calls with the same IDs, or may differ
	// from the results in the transcript. The cached messages may be those of another run, from before a reset, or from before a
	// compaction. The last draft uses only messages of the workflow, which are right.
	type draft struct {
		known          transcript
		results, delta []llm.Message
	}
	drafts := []draft{{known, nil, in.Delta}, {}}
	if in.Aside {
		drafts = drafts[:1] // only the input has the question
	}
	if results := a.cache.results(id, known.messages); len(results) > 0 {
		drafts = append([]draft{{known, results, in.Delta}}, drafts...)
	}
	for _, d := range drafts {
		t, err := a.complete(ctx, in, d.known, d.results, d.delta)
		if err != nil {
			return llm.Request{}, t, err
		}
		if in.Aside {
			t.origin = *in.Origin
		}
		if t.origin.Key(t.chain) != key {
			continue
		}
		req, err := a.head(ctx, t.origin.PrefixHash, in.Compact || in.Aside)
		if err != nil {
			return req, t, err
		}
		if !in.Compact && !in.Aside {
			a.cache.transcripts.Set(id, t)
		}
		req.Messages = append(slices.Clip(req.Messages), t.messages...)
		return req, t, nil
	}
	return llm.Request{}, known, temporal.NewNonRetryableApplicationError(
		"the workflow's request is no longer the one with the key in the activity's ID", protocol.Mismatch, nil)
}

// complete appends the missing messages of the request to the given transcript, and returns the longer transcript. First it
// appends `results`, the cached results of tool calls. Then it appends messages that it gets by queries of the workflow. At
// the end it appends `delta`, the messages from the activity's input.
func (a *Activities) complete(ctx context.Context, in protocol.CallModelInput, t transcript, results, delta []llm.Message) (transcript, error) {
	messages := t.messages
	messages = append(messages, results[:min(len(results), in.Count-len(messages))]...)
	for upTo := in.Count - len(delta); len(messages) < upTo; {
		page, err := a.read(ctx, protocol.RequestInput{From: len(messages), Count: upTo, Compact: in.Compact})
		if err != nil {
			return t, err
		}
		if len(page.Messages) == 0 {
			return t, temporal.NewNonRetryableApplicationError(
				fmt.Sprintf("the workflow has %d messages, but the request needs %d of them", len(messages), upTo), protocol.Mismatch, nil)
		}
		t.origin, messages = page.Origin, append(messages, page.Messages...)
	}
	messages = append(messages, delta[len(delta)-(in.Count-len(messages)):]...)
	return t.extended(messages[len(t.messages):]), nil
}

// head returns the request prefix with the given hash: the models that can answer, the model settings, the tools and the
// system message. It takes the prefix from the cache, or queries the workflow for it. `compact` selects the prefix for
// summaries and asides. If the workflow has another prefix, the error has the type [protocol.Mismatch].
func (a *Activities) head(ctx context.Context, hash string, compact bool) (llm.Request, error) {
	if head, ok := a.cache.heads.GetIfPresent(hash); ok {
		return head, nil
	}
	page, err := a.read(ctx, protocol.RequestInput{Head: true, Compact: compact})
	if err != nil {
		return llm.Request{}, err
	}
	if page.Head == nil || agent.HashPrefix(*page.Head) != hash {
		return llm.Request{}, temporal.NewNonRetryableApplicationError(
			"the request prefix of the workflow does not have the prefix hash of the request", protocol.Mismatch, nil)
	}
	a.cache.heads.Set(hash, *page.Head)
	return *page.Head, nil
}

// read queries the workflow of this activity for a part of the request. It repeats a query that fails, because a failed query
// must not count as an attempt at the model call. It returns an error if [queryPatience] has passed, if the worker stops, or
// if the context ends.
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
			"the workflow did not answer the query for the request, so the next attempt asks again: "+err.Error(), protocol.Unavailable,
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
