package client

import (
	"context"
	"errors"
	"iter"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
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
	// Status is the agent's status. It is set only when [Client.Watch] has yielded all messages that the transcript has so
	// far.
	Status Status
	// NoWorker says that no worker answers for the agent at this time.
	NoWorker bool
	// NoServer says that Temporal does not answer at this time.
	NoServer bool
	// Retry is a failed call that is tried again; nil if there is none. It is set only with the status [Running].
	Retry *Retry
	// PartialText is the text of the running model call so far; nil if there is none. It is set only with the status
	// [Running]. The text is a preview: discard it when the message with the same key comes, or when PartialText becomes nil.
	PartialText *PartialText
	// Rewound says that the transcript has become shorter, because a reset took the agent back to an earlier point. Discard
	// all messages that have the index `Index` or a higher one. The next message has the index `Index`.
	Rewound bool
}

const (
	// minPause is the shortest pause between two requests. The pause grows as long as nothing changes.
	minPause = 20 * time.Millisecond
	// maxPause is the longest pause between two requests.
	maxPause = 500 * time.Millisecond
	// slowAnswer is the duration after which the answer to a query counts as slow. A slow answer means that Temporal refused
	// the query at first, because many clients query the same agent.
	slowAnswer = 500 * time.Millisecond
	// crowdedPause is the pause of [Client.Watch] after a slow answer. With more queries, Temporal would no longer send them
	// to the worker that has the agent's state in memory. Each answer would then take even longer.
	crowdedPause = 2 * time.Second
	// lookPause is the time for which [Client.Watch] keeps the description of a running agent. After that, Watch asks
	// Temporal for a new description.
	lookPause = 500 * time.Millisecond
)

// Watch yields the messages of an agent as they come, beginning with the message at index `from`, counted from 0. If that
// message was summarised, Watch begins with the first message that was not summarised. When Watch has yielded all messages,
// it yields the agent's status, again and again until there is a new message. Watch continues if workers or Temporal restart.
//
// The iteration ends when the agent has ended, when the caller stops it, or when an error occurs. Watch yields the error as
// its last item. If ctx ends, this error is context.Cause(ctx).
func (c *Client) Watch(ctx context.Context, id string, from int) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		// A query to an agent that has ended would need a worker, and would replay the history with code that may have changed
		// since.
		if c.watchEnded(ctx, id, from, yield) {
			return
		}
		pause := minPause
		var found description // of a running agent
		var looked time.Time
		for {
			asked := time.Now()
			page, err := c.page(ctx, id, from)
			rest := time.Duration(0)
			if time.Since(asked) >= slowAnswer {
				rest = crowdedPause
			}
			switch {
			case ctx.Err() != nil:
				yield(Progress{}, context.Cause(ctx))
				return
			case errors.Is(err, ErrNoWorker), errors.Is(err, ErrNoServer):
				down := c.temporalIsDown(ctx)
				if !down && c.watchEnded(ctx, id, from, yield) {
					return
				}
				if !yield(Progress{NoWorker: !down, NoServer: down, Index: from}, nil) {
					return
				}
			case err != nil:
				yield(Progress{}, err)
				return
			case page.Reading:
				// The agent has no messages yet, which is not a reset. It may also have ended before it had a state.
				if time.Since(looked) >= lookPause {
					if c.watchEnded(ctx, id, from, yield) {
						return
					}
					looked = time.Now()
				}
				if !yield(Progress{Index: from}, nil) {
					return
				}
			case page.Count < from:
				from = page.Count
				if !yield(Progress{Rewound: true, Index: from}, nil) {
					return
				}
				continue
			default:
				from = max(from, page.First) // the agent does not hold messages before First; they were summarised
				for i := range page.Messages {
					if !yield(Progress{Message: &page.Messages[i], Index: from}, nil) {
						return
					}
					from++
					pause = minPause
					found = description{} // the description is older than this message
				}
				if from < page.Count {
					continue
				}
				status, seen := page.Status, description{}
				if status.Ended() || len(page.Messages) == 0 && status == Running {
					// The worker may report that the agent has ended before Temporal does. It does not report that the agent was
					// terminated. So describe the agent.
					if status.Ended() || time.Since(looked) >= lookPause {
						if now, err := c.describe(ctx, id); err == nil {
							found = now
						}
						if found.status.Ended() {
							yield(Progress{Index: from, Status: found.status}, nil)
							return
						}
						looked = time.Now()
					}
					status, seen = Running, found
				}
				if len(page.Inbox) > 0 && status == Waiting {
					status = Running
				}
				if !yield(Progress{Index: from, Status: status, Retry: seen.retry, PartialText: seen.words}, nil) {
					return
				}
			}
			if !sleep(ctx, max(pause, rest)) {
				yield(Progress{}, context.Cause(ctx))
				return
			}
			pause = min(pause*5/4+time.Millisecond, maxPause)
		}
	}
}

// watchEnded does the work of [Client.Watch] for an agent that has ended, and returns true. It needs no worker, because it
// reads the messages and the status from the agent's history. If the agent has not ended, or if the request for its status
// fails, watchEnded yields nothing and returns false.
func (c *Client) watchEnded(ctx context.Context, id string, from int, yield func(Progress, error) bool) bool {
	found, err := c.describe(ctx, id)
	if err != nil || !found.status.Ended() {
		return false
	}
	snap, err := c.Read(ctx, id)
	if err != nil {
		yield(Progress{}, err)
		return true
	}
	for from = max(from, snap.First); from < snap.First+len(snap.Messages); from++ {
		if !yield(Progress{Message: &snap.Messages[from-snap.First], Index: from}, nil) {
			return true
		}
	}
	yield(Progress{Index: from, Status: snap.Status}, nil)
	return true
}

// unavailable reports whether err says that Temporal could not be reached.
func unavailable(err error) bool { return errors.As(err, new(*serviceerror.Unavailable)) }

// temporalIsDown reports whether Temporal fails a health check. Call it after a failed query, because the error of the query
// does not tell who did not answer: a worker, or Temporal.
func (c *Client) temporalIsDown(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := c.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err != nil
}

// Reply waits until an agent has answered a message, and returns the answer and the agent's status. `messageID` is the ID of
// the message. Reply also returns if the agent ends, gets the status [Held], or waits for a person's decision on a tool call.
// The answer may then be empty.
//
// Reply watches the agent as [Client.Watch] does, beginning with the message at index `from`. The answered message must have
// this index or a higher one. Reply calls `see` with each [Progress]; `see` may be nil.
func (c *Client) Reply(ctx context.Context, id, messageID string, from int, see func(Progress)) (answer string, status Status, err error) {
	taken := false
	for p, err := range c.Watch(ctx, id, from) {
		if err != nil {
			return "", "", err
		}
		if see != nil {
			see(p)
		}
		switch {
		case p.Message != nil:
			m := p.Message
			taken = taken || m.Role == llm.User && string(m.Key) == messageID
			if taken && m.Role == llm.Assistant && len(m.ToolCalls) == 0 {
				answer = m.Content
			}
		case p.Status == "", p.Status == Running:
		case p.Status.Ended(), p.Status == Held, taken:
			return answer, p.Status, nil
		}
	}
	return answer, "", context.Cause(ctx)
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
