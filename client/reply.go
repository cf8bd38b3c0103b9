package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// WaitingError is the error of [Client.Reply] if calls wait for somebody outside the agent, so that the answer may not come for days.
// Decide on the calls with [Client.Decide], or show them to a person. Then keep waiting with [Client.AwaitReply].
type WaitingError struct {
	// ID is the ID of the agent.
	ID string
	// Waiting are the calls that wait, in the agent and in its sub-agents. There is at least one.
	Waiting []Waits
}

// Error returns a text that names the calls and says what they wait for.
func (e *WaitingError) Error() string {
	var calls []string
	for _, w := range e.Waiting {
		of := ""
		if w.AgentID != e.ID {
			of = fmt.Sprintf(" of sub-agent %q", w.AgentID)
		}
		calls = append(calls, fmt.Sprintf("%s (%s)%s waits for %s", w.Handle(), w.Call.Name, of, w.Call.Wait.For.SettledBy()))
	}
	return fmt.Sprintf("agent %q has not answered yet: call %s; decide with Client.Decide or `starter inbox`", e.ID, strings.Join(calls, ", call "))
}

// Reply waits until an agent has answered a message, and returns the agent as it is then. The snapshot has no messages, calls, queue,
// sub-agents or retry. Its field Answer is the answer to this message; empty if there is none. `messageID` is the ID of the message, or
// [Sent].Answered if the message has answered a question. Reply also returns in these cases:
//   - The agent ends or gets the status [Held].
//   - All open calls of the agent wait for somebody outside: for a decision, the answer to a question or a result. The error is then a
//     [*WaitingError] with these calls.
//   - The agent waits for sub-agents, and a call below it waits for somebody outside. The error is a [*WaitingError], too. Reply looks
//     for such calls after 2 seconds, and then less and less often, up to once in 30 seconds.
//   - ctx ends. The error is then context.Cause(ctx).
//   - The agent cannot be watched any more. The error is then that of [Client.Watch].
//
// Reply watches the agent as [Client.Watch] does, beginning with the message at index `from`. The message with the ID `messageID`
// must have this index or a higher one. Reply calls `see` with each [Progress]; `see` may be nil.
func (c *Client) Reply(ctx context.Context, id, messageID string, from int, see func(Progress)) (Snapshot, error) {
	return c.reply(ctx, id, messageID, from, see, true)
}

// AwaitReply is [Client.Reply] for a program that waits as long as it takes: it keeps waiting while calls wait for somebody outside.
func (c *Client) AwaitReply(ctx context.Context, id, messageID string, from int, see func(Progress)) (Snapshot, error) {
	return c.reply(ctx, id, messageID, from, see, false)
}

// minCallsPause and maxCallsPause are the shortest and the longest pause before reply checks the calls of sub-agents. Each check lists
// the sub-agents and reads their histories.
const minCallsPause, maxCallsPause = 2 * time.Second, 30 * time.Second

// reply is [Client.Reply] if `outside` is set, and [Client.AwaitReply] if not.
func (c *Client) reply(ctx context.Context, id, messageID string, from int, see func(Progress), outside bool) (snap Snapshot, err error) {
	watching, stop := context.WithCancel(ctx)
	reports := c.reports(watching, id, from)
	defer func() {
		stop()
		for open := true; open; { // until the watch has ended
			_, open = <-reports
		}
	}()
	taken, answer, waits := false, "", noCall
	var pause time.Duration
	var look <-chan time.Time
	for {
		select {
		case r, open := <-reports:
			switch {
			case !open:
				return snap, context.Cause(ctx)
			case r.err != nil:
				return snap, r.err
			case see != nil:
				see(r.Progress)
			}
			if m := r.Message; m != nil {
				taken = taken || (m.Role == llm.User || m.Role == llm.Tool) && string(m.Key) == messageID
				if taken && m.Role == llm.Assistant && len(m.ToolCalls) == 0 {
					answer = m.Content
				}
			}
			if r.Snapshot != nil {
				snap = *r.Snapshot
				snap.Answer = answer
			}
			if r.Rests() && (r.Status.Ended() || r.Status == Held || taken) {
				return snap, nil
			}
			if outside && r.Status != "" && waits != r.waits {
				// An agent that waits for somebody outside reports nothing more, so a timer looks after it.
				if waits, pause, look = r.waits, minCallsPause, nil; waits == ownCalls {
					pause = 0
				}
				if waits != noCall {
					look = time.After(pause)
				}
			}
		case <-look:
			waiting, err := c.Pending(ctx, id)
			switch {
			case err == nil && len(waiting) > 0:
				return snap, &WaitingError{ID: id, Waiting: waiting}
			case err != nil && ctx.Err() == nil && !unanswered(err):
				return snap, err
			}
			pause = min(max(minCallsPause, 2*pause), maxCallsPause)
			look = time.After(pause)
		}
	}
}

// report is a report of [Client.Watch], or the error with which the watch has ended.
type report struct {
	Progress
	waits callsWait
	err   error
}

// callsWait says whether calls may wait for somebody outside while the agent does nothing else.
type callsWait int

const (
	noCall   callsWait = iota // the agent works, or waits for a message
	ownCalls                  // all open calls wait for somebody outside
	subCalls                  // all open calls wait for somebody outside or for sub-agents, whose calls may wait
)

// reports watches an agent until ctx ends, and closes the channel at the end.
func (c *Client) reports(ctx context.Context, id string, from int) <-chan report {
	reports := make(chan report)
	w := &watcher{client: c, id: id, from: from}
	w.yield = func(p Progress, err error) bool {
		select {
		case reports <- report{p, w.callsWait(p), err}:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		defer close(reports)
		w.watch(ctx)
	}()
	return reports
}

// callsWait returns what the progress and the open calls say about calls that wait.
func (w *watcher) callsWait(p Progress) callsWait {
	switch {
	case CallWaits(p.WaitsFor):
		return ownCalls
	case p.WaitsFor == WaitsForSubAgents:
		return subCalls
	case p.Status != Running:
		return noCall
	}
	waits := noCall
	for _, call := range w.calls {
		switch {
		case call.Result != nil:
		case call.Waits() || call.Child != "":
			waits = subCalls
		default:
			return noCall
		}
	}
	return waits
}
