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

// Progress is something new to see of an agent.
type Progress struct {
	// Message is the next message of the transcript; nil where only the status changed.
	Message *agent.Message
	// Index is the message's place in the transcript.
	Index int
	// Status is set when there is nothing more to see for now.
	Status Status
	// NoWorker says that nobody answers for the agent at this time.
	NoWorker bool
	// NoServer says that Temporal does not answer at this time.
	NoServer bool
	// Retry is set beside the status "running" while a call that failed is tried again.
	Retry *Retry
	// PartialText are set beside the status "running" while a model speaks. They are a preview, which the message
	// with their key replaces; where they are nil, those shown before are void.
	PartialText *PartialText
	// Rewound says that the agent was taken back to an earlier message, by a reset:
	// what comes next has the place Index.
	Rewound bool
}

const (
	minPause = 20 * time.Millisecond
	maxPause = 500 * time.Millisecond
	// slowAnswer is how long an answer takes at least where Temporal refused the question at first, because others ask
	// the same agent. Who gets such an answer rests for crowdedPause: questions would else take the agent's worker away from
	// it, and Temporal then gives it to a worker without its state, which makes each answer slower still.
	slowAnswer   = 500 * time.Millisecond
	crowdedPause = 2 * time.Second
	// lookPause is how long what Temporal tells of a running agent is taken to hold.
	lookPause = 500 * time.Millisecond
)

// Watch yields the messages of an agent from the given one on, as they come, and
// whenever all are out the agent's status. It goes on over restarts of workers and of Temporal, and ends when
// the agent has ended, the context is done, or the caller stops it.
func (c *Client) Watch(ctx context.Context, id string, from int) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		// A question to an agent that has ended waits for a worker, and replays code
		// that may have changed since.
		if c.watchEnded(ctx, id, from, yield) {
			return
		}
		pause := minPause
		var found description // of a running agent
		var looked time.Time
		for {
			asked := time.Now()
			page, err := c.Transcript(ctx, id, from)
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
			case page.Count < from:
				from = page.Count
				if !yield(Progress{Rewound: true, Index: from}, nil) {
					return
				}
				continue
			default:
				from = max(from, page.First) // what lies before was summarised, and has left the agent
				for i := range page.Messages {
					if !yield(Progress{Message: &page.Messages[i], Index: from}, nil) {
						return
					}
					from++
					pause = minPause
					found = description{} // what was seen before the message is over
				}
				if from < page.Count {
					continue
				}
				status, seen := Status(page.Status), description{}
				if status.Ended() || len(page.Messages) == 0 && status == Running {
					// The transcript may be complete before Temporal knows that the
					// agent has ended, or without its worker knowing that it was terminated.
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

// watchEnded yields the rest of an agent that has ended from its history, for which no worker is
// needed. It reports whether it did.
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

// temporalIsDown reports whether Temporal itself does not answer: a query that nobody answers
// looks the same.
func (c *Client) temporalIsDown(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := c.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err != nil
}

// Reply waits until an agent has answered the message of that ID and returns the
// answer. The agent may be held or have ended instead, which the status tells. Each message that
// comes is shown to see, which may be nil.
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

// sleep waits for d and reports whether the context is still live.
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
