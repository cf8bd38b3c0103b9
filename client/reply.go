package client

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// Reply waits until an agent has answered a message, and returns the agent as it is then. `messageID` is [Sent].MessageID, also if the
// message has answered a question. The snapshot has no messages, calls, queue, sub-agents or retry. Its field Answer is the answer to this
// message, even if the agent has answered later messages since, and Turn says what its turn has used. Answer is empty if there is none, in these cases:
//   - Somebody outside has to act first: to decide on a call, to answer a question, or to send a result. The field Waiting of the
//     snapshot has these calls, which may be calls of sub-agents. Settle them with [Client.Decide], or show them to a person. Then call
//     Reply again.
//   - The agent has ended, or has the status [Held]. The field Failure says why.
//
// If a guardrail, or a person whom it asked, has refused the message or the answer to it, the field Refusal has the reason, and Answer is a
// text that says so.
//
// While the agent waits for sub-agents, Reply looks for calls that wait below it after 2 seconds, and then less and less often, up to once
// in 30 seconds. If the agent works on a later message, the status is [Running].
//
// If messageID is empty, Reply waits for no certain message: it returns when the agent rests (see [Progress.Rests]), or when somebody outside
// has to act. Answer is then the agent's last answer, and Turn is empty.
//
// If ctx ends, the error is context.Cause(ctx). If the agent cannot be watched any more, the error is that of [Client.Watch].
//
// Reply watches the agent as [Client.Watch] does, beginning with the message at index `from`. The message with the ID `messageID`
// must have this index or a higher one, so 0 is always right. Reply calls `see` with each [Progress]; `see` may be nil.
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
	found, waits := answerTo{message: messageID, taken: messageID == ""}, noCall
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
			if r.Message != nil {
				found.read(*r.Message, r.decisions)
			}
			if r.Snapshot != nil {
				snap = *r.Snapshot
				if messageID != "" {
					snap.Answer, snap.Refusal = found.text, snap.refusalOf(agent.TextAnswer, found.key)
				}
				if found.answered {
					snap.Turn = found.use
				}
				if refused := snap.refusalOf(agent.TextMessage, agent.Key(messageID)); refused != nil {
					snap.Answer, snap.FinishReason, snap.Refusal, snap.Turn = refused.Reply(), "", refused, agent.TurnUse{}
					snap.Stopped, snap.Limit = "", agent.ReachedLimit{}
					return snap, nil
				}
			}
			switch {
			case r.Snapshot != nil && found.over:
				// Those of the snapshot are of a later turn.
				snap.FinishReason, snap.Stopped, snap.Limit = found.finishReason, "", agent.ReachedLimit{}
				return snap, nil
			case r.Rests() && (r.Status.Ended() || r.Status == Held || found.taken):
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
				snap.Waiting = waiting
				return snap, nil
			case err != nil && ctx.Err() == nil && !unanswered(err):
				return snap, err
			}
			pause = min(max(minCallsPause, 2*pause), maxCallsPause)
			look = time.After(pause)
		}
	}
}

// report is a report of [Client.Watch], or the error with which the watch has ended. decisions are those that the agent has received.
type report struct {
	Progress
	decisions []agent.Decision
	waits     callsWait
	err       error
}

// answerTo looks for the answer to a message, in the messages of a transcript in their order.
type answerTo struct {
	// message is the ID of the message.
	message string
	// taken says that the agent has taken the message, as a message or as the answer to a question.
	taken bool
	// answered says that there is an answer. It has the given key, text and finish reason.
	answered           bool
	key                agent.Key
	text, finishReason string
	// use says which model has answered, and what the turn has used.
	use agent.TurnUse
	// over says that the agent has begun to work on another message, so that no better answer follows.
	over bool
}

// read reads the next message of the transcript.
func (a *answerTo) read(m agent.Message, decisions []agent.Decision) {
	switch {
	case a.over || a.message == "":
	case string(m.Key) == a.message && m.Role == llm.User:
		a.taken = true
	case m.Role == llm.Tool && !a.taken:
		// A tool that has asked goes on under another key, so the time tells which result came after the answer of the person.
		a.taken = slices.ContainsFunc(decisions, func(d agent.Decision) bool { return d.Message == a.message && d.Used && d.Time <= m.Time })
	case m.Role == llm.User && a.answered && !m.Notice && !m.BringsLateResult():
		a.over = true
	case m.Role == llm.Assistant && a.taken:
		a.use.Model = cmp.Or(m.Model, a.use.Model) // a notice at the end of the turn has no model
		if len(m.ToolCalls) == 0 {
			a.answered, a.key, a.text, a.finishReason, a.use.Spending = true, m.Key, m.Content, m.FinishReason, m.Spent
		}
	}
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
		case reports <- report{p, w.decisions, w.callsWait(p), err}:
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
