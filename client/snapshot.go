package client

import (
	"cmp"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/workflows"
)

// Status is the status of an agent. In a [Started], an [Entry] and a [Child], every agent that has not ended has the status
// [Running]. A [Snapshot] and a [Progress] distinguish [Running], [Waiting] and [Held].
type Status = agent.Status

// The statuses of an agent. An agent with one of the first three has not ended.
const (
	Running = agent.Running // a turn is running
	// Waiting means that the agent waits for a message or for sub-agents in the background, or that all its open calls wait for somebody
	// outside.
	Waiting    = agent.Waiting
	Held       = agent.Held // a failure or an interrupt has stopped the turn, and the agent waits for a message
	Completed  = agent.Completed
	Failed     = agent.Failed
	Cancelled  = agent.Cancelled
	Terminated = agent.Terminated
	TimedOut   = agent.TimedOut
	// Unknown is the status of a sub-agent in a [Snapshot] if Temporal has deleted the sub-agent's history and the parent does
	// not know how the sub-agent ended. A program that lists agents can also use it for an agent that it cannot read.
	Unknown = agent.Unknown
)

// WaitsFor says what an agent waits for. From this, a program can show who has to act.
type WaitsFor = agent.WaitsFor

// The values of [WaitsFor]. The empty value means that the agent waits for none of these, or that it has ended.
const (
	WaitsForMessage   = agent.WaitsForMessage   // the user's next message
	WaitsForApproval  = agent.WaitsForApproval  // a person's decision on a tool call
	WaitsForAnswer    = agent.WaitsForAnswer    // a person's answer to a question
	WaitsForResult    = agent.WaitsForResult    // the result of a call that happens outside
	WaitsForRelease   = agent.WaitsForRelease   // a person who removes the cause of a failure and sends a message: see [Held]
	WaitsForSubAgents = agent.WaitsForSubAgents // sub-agents: all open calls wait for them, or a task waits for those in the background
)

// Snapshot describes an agent at one time. Fields may be empty because nobody has read them:
//   - Only [Client.Show] and [Client.ShowRecorded] set `Messages`, `First`, `Pending`, `Queue` and `Children`.
//   - Only [Client.Show], [Client.Describe] and [Client.Await] set `Retry`, and only if the agent has not ended.
//   - Only a snapshot that was made from a whole history has `Definition`, `Models`, `ContextTokens` and `ContextLimit`: those of [Client.ShowRecorded],
//     [Client.Watch] and [Client.Reply], most of those of [Client.DescribeEntry], and that of [Client.Show] if the agent has ended.
type Snapshot struct {
	// ID is the agent's ID.
	ID string
	// Agent is the name of the agent's definition: see [agent.Definition].
	Agent string
	// Digest tells the agent's definition from others: see [agent.Definition.Digest]. It is empty if nobody has read the definition.
	Digest string
	// Status says whether the agent works, waits or has ended, and how it ended.
	Status Status
	// WaitsFor says what the agent waits for. It is empty while the agent is working, unless all its open calls wait for
	// sub-agents. It is also empty if the agent has ended, and if a worker of an earlier version answers.
	WaitsFor WaitsFor
	// Started is the time at which the newest run started; zero if it is not known. A resume and a continue-as-new begin a new run.
	Started time.Time
	// Task is the beginning of the first message; empty if the message is not known.
	Task string
	// Metadata is what the program that started the agent knew about it; nil if there is none.
	Metadata agent.Metadata
	// Messages are the newest messages of the transcript.
	Messages []agent.Message
	// First is the index of the first of these messages in the whole transcript, counted from 0. The messages before this
	// index were summarised: see [Client.Earlier].
	First int
	// Count is the number of messages in the whole transcript.
	Count int
	// Retry is a failed call that is tried again; nil if there is none.
	Retry *Retry
	// Pending are the tool calls without a result, and a call for each text about which a guardrail asks a person: see [agent.State.Open].
	Pending []agent.Call
	// Waiting are the calls of the agent and its sub-agents that wait for somebody outside. Only [Client.Reply] sets it.
	Waiting []Waits
	// Queue are the messages that the agent has received and not yet taken into its transcript. Their texts are cut, and they
	// have no images.
	Queue []agent.QueuedMessage
	// Children are the sub-agents that the state still has: all that are running, and the newest that have ended.
	Children []Child
	// ChildCount is the number of all sub-agents.
	ChildCount int
	// Usage counts what the agent has used.
	Usage agent.Usage
	// Spent counts the tokens and the cost of the agent and of its sub-agents that have ended; nil if unknown.
	Spent *agent.Spending
	// Turn says which model gave the Answer, and what its turn has used. Only [Client.Reply] and [Client.AwaitReply] set it; for the messages
	// of a snapshot, [agent.AnswerUse] returns the same.
	Turn agent.TurnUse
	// Models are the models that the agent may use. The first is the preferred one, and the others are its fallbacks.
	Models []llm.Candidate
	// Definition is the definition of the agent, without the overrides of a turn; nil if the agent has not read it. Only a snapshot that was made
	// from a whole history has it. It must not be changed.
	Definition *agent.Definition
	// ModelChoices are the names of the models that a message may choose: see [agent.Overrides].Model. It is empty if they are not known.
	ModelChoices []string
	// ContextTokens is the number of tokens of the newest model reply and its request; 0 if unknown.
	ContextTokens int
	// ContextLimit is the number of such tokens at which the agent summarises its conversation: see [agent.Limits]. 0 means no limit.
	ContextLimit int
	// Answer is the text of the agent's last answer; empty if there is none.
	Answer string
	// FinishReason is the provider's finish reason if the provider may have cut the answer; empty if not. For example, "length" means
	// that the answer reached the model's output limit.
	FinishReason string
	// Stopped names the limit that ended the work on the last message: "model_calls", "tokens", "cost" or "time". It is empty
	// if no limit ended the work.
	Stopped string
	// Limit is the value and the owner of this limit. It is zero if no limit ended the work, and if only the result of the agent was read.
	Limit agent.ReachedLimit
	// Interrupts are the times at which people have interrupted the turn in the newest run, oldest first. Only a snapshot that was made from a
	// whole history has them.
	Interrupts []time.Time
	// Refused are the newest texts that guardrails, or the people whom they asked, have refused, oldest first. The texts themselves are not
	// there.
	Refused []agent.RefusedText
	// Refusal says that the agent has not answered its last message, because the message or the answer was refused; nil if it has answered.
	// [Client.Reply] sets it for its message. Answer then has the text of [agent.RefusedText.Reply], or an earlier answer.
	Refusal *agent.RefusedText
	// Failure says why the status is [Held], or why the agent ended without completing. In all other cases it is empty.
	Failure string
	// Class is the type of the failure, such as an [llm.Class] or [UnknownAgent]. It is empty if there is no failure, or if the failure has no
	// type.
	Class string
}

// RefusedMessage returns what the sender of a message gets in place of an answer if the message was refused, and "" if it was not.
func (s Snapshot) RefusedMessage(messageID string) string {
	if r := s.refusalOf(agent.TextMessage, agent.Key(messageID)); r != nil {
		return r.Reply()
	}
	return ""
}

// refusalOf returns the refusal of a message with the given ID, or of an answer with the given key; nil if the text was not refused.
func (s Snapshot) refusalOf(kind agent.TextKind, of agent.Key) *agent.RefusedText {
	for i, r := range s.Refused {
		if r.Kind == kind && r.Of == of {
			return &s.Refused[i]
		}
	}
	return nil
}

// Child is a sub-agent in a [Snapshot].
type Child struct {
	// ID is the sub-agent's ID.
	ID string
	// Agent is the name of the sub-agent's definition.
	Agent string
	// Status is [Running] for a sub-agent that has not ended. For one that has ended, it says how. It is [Unknown] if nobody knows.
	Status Status
}

// snapshot makes a [Snapshot] from a run and its state. It leaves `Messages`, `First`, `Pending`, `Queue` and `Children`
// empty. `status` and `task` come from Temporal's description of the agent; `task` may be empty.
func snapshot(id string, status Status, task string, run *history.Run) Snapshot {
	snap := Snapshot{ID: id, Agent: run.Start.Agent, Status: status, Task: cmp.Or(task, taskOf(run)), Metadata: run.Start.Metadata}
	snap.Interrupts = run.Interrupts
	s := run.State
	if s == nil {
		return snap
	}
	spent := s.Spent()
	snap.Count, snap.ChildCount, snap.Usage, snap.Spent = s.Count(), s.ChildCount(), s.Usage, &spent
	snap.Answer, snap.FinishReason, snap.Stopped, snap.Limit = s.Answer(), s.FinishReason(), s.Turn.Stopped, s.Turn.Limit
	snap.ContextTokens, snap.Refused, snap.Refusal = run.ContextTokens, s.Refused, s.Refusal()
	if d := s.Definition; d != nil {
		snap.Models, snap.ContextLimit, snap.Digest = d.Candidates, d.Limits.ContextTokens, s.Own().Digest()
		snap.Definition = s.Own()
		snap.ModelChoices = d.ModelChoices
	}
	if !status.Ended() {
		snap.Status, snap.WaitsFor = s.Status(), s.WaitsFor()
	}
	switch {
	case !status.Ended() && s.Hold != nil:
		snap.Failure, snap.Class = s.Hold.Message, s.Hold.Class
	case !status.Ended() && s.Outcome != nil: // the workflow has not returned yet
		snap.Failure, snap.Class = s.Outcome.Message, s.Outcome.Class
	case status.Ended() && status != Completed:
		snap.Failure = failureText(protocol.EndText(run.End))
		if failed, ok := errors.AsType[*temporal.ApplicationError](run.End); ok {
			snap.Class = failed.Type()
		}
	}
	return snap
}

// taskOf returns the beginning of the agent's first message. It returns "" if the run no longer has this message.
func taskOf(run *history.Run) string {
	switch s := run.State; {
	case run.Start.Message != nil && run.Start.From == nil:
		return workflows.TaskText(run.Start.Message.Text)
	case s != nil && s.Dropped == 0 && len(s.Messages) > 0:
		return workflows.TaskText(s.Messages[0].Content)
	}
	return ""
}
