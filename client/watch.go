package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
)

// Progress is one item that [Client.Watch] yields, such as a new message or the agent's status. At most one of `Message`,
// `Status`, `NoWorker`, `NoServer` and `Rewound` is set. None of them is set together with an error, or while the agent reads
// its state from an earlier run.
type Progress struct {
	// Message is the next message of the transcript; nil if there is no new message.
	Message *agent.Message
	// Index is the index of the new message in the transcript, counted from 0. If there is no new message, Index is the index
	// that the next message will have.
	Index int
	// Status is the agent's status. It is set only when [Client.Watch] has yielded all messages of the transcript so far.
	Status Status
	// WaitsFor says what the agent waits for. It is set only with a status.
	WaitsFor WaitsFor
	// Snapshot describes the agent. It is set only with a status, and has no messages, calls, queue, sub-agents or retry.
	Snapshot *Snapshot
	// Open are the calls of the last message that have no result in the transcript yet. It is set only with a status, and must not be changed.
	Open []agent.Call
	// NoWorker says that work of the agent has waited for several seconds, and no worker has taken it.
	NoWorker bool
	// NoServer says that Temporal does not answer at this time.
	NoServer bool
	// LoadsDefinition says that the agent waits for a worker to read its definition, before it can call a model. It is set only with the
	// status [Running].
	LoadsDefinition bool
	// Retry is a failed call that is tried again; nil if there is none. It is set only with the status [Running].
	Retry *Retry
	// PartialText is the text of the running model call so far. It is nil if there is none, or if nobody has asked for it: see
	// [StartOptions], [Message] and [Client.RequestPartialText]. It is set only with the status [Running]. The text is a preview:
	// discard it when the message with the same key comes, or when PartialText becomes nil.
	PartialText *PartialText
	// ToolOutputs has the output so far of the running tools that have reported output, in the order in which the model asked for the
	// calls. There are at most 10. It is empty if nobody has asked for the text of the turn: see PartialText. It is set only with the
	// status [Running]. The output is a preview: discard it when the call is no longer in ToolOutputs.
	ToolOutputs []ToolOutput
	// Rewound says that the transcript has become shorter, because a reset took the agent back to an earlier point. Discard
	// all messages that have the index `Index` or a higher one. The next message has the index `Index`.
	Rewound bool
}

// Rests reports whether the agent does nothing until a message comes: it has ended, is held, or waits for a message. An agent whose
// calls wait for somebody outside does not rest, because its turn has not ended. Neither does an agent that waits for sub-agents.
func (p Progress) Rests() bool {
	return p.Status != "" && p.Status != Running && !CallWaits(p.WaitsFor) && p.WaitsFor != WaitsForSubAgents
}

// CallWaits reports whether w says that calls wait for somebody outside: for a decision, an answer or a result.
func CallWaits(w WaitsFor) bool {
	return slices.Contains(agent.CallWaitKinds(), w)
}

const (
	minPause = 20 * time.Millisecond
	maxPause = 500 * time.Millisecond
)

// Watch yields the messages of an agent as they come, beginning with the message at index `from`, counted from 0. If that
// message was summarised, Watch begins with the first message that was not summarised. When Watch has yielded all messages,
// it yields the agent's status. While the agent is working, it yields the status again and again, several times in a second.
// Watch continues if workers or Temporal restart.
//
// Watch reads the messages from the agent's history, by long polls. So it needs no worker, and Temporal sends each event when
// it is written. Watch sends no queries, because Temporal Cloud bills them. While the status is [Waiting] or [Held], Watch only
// waits for the next event, and checks about once a minute that Temporal answers.
//
// The iteration ends when the agent has ended, when the caller stops it, or when an error occurs. Watch yields the error as
// its last item. If ctx ends, this error is context.Cause(ctx). The error wraps a [*history.UnreadableError] if the history
// does not fit this version of the workflow or cannot be decoded.
func (c *Client) Watch(ctx context.Context, id string, from int) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		w := &watcher{client: c, id: id, from: from, yield: yield}
		w.watch(ctx)
	}
}

func unavailable(err error) bool { return errors.As(err, new(*serviceerror.Unavailable)) }

// temporalIsDown reports whether Temporal fails a health check. After a failed query it tells who did not answer: a worker, or
// Temporal.
func (c *Client) temporalIsDown(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := c.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err != nil
}

// sleep waits for the given time and returns true. If ctx ends first, sleep returns false at once.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
