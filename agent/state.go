// Package agent is the pure core of a durable agent. [State] is what the agent knows, [Event] is what can happen to it,
// and [Step] is what it does next.
//
// State is plain JSON data. [State.Apply] changes it by an event. [State.Next] computes the next step from it and changes
// nothing. The state has no phase and no flag for the first run: to resume an agent, the driver calls Next. Keys are
// hashes of content: see [Key]. The package uses no clock, no randomness, no goroutine and no I/O. Times come with
// events, in Unix milliseconds.
//
//	driver                     core
//	  │  Next() ───────────────▶ step
//	  │  carries out the step
//	  │  Apply(event) ─────────▶ state
//	  └─ repeats
package agent

import (
	"encoding/json"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Mode says what an agent does when it has answered.
type Mode string

const (
	// Task agents end when they have answered. The zero Mode means Task.
	Task Mode = "task"
	// Chat agents wait for the next message when they have answered.
	Chat Mode = "chat"
)

// State is everything that an agent knows. The zero State is not valid: see [New]. A State is not safe for concurrent
// use. Change it only by its methods Apply, Advance and Drop.
type State struct {
	Identity
	Agent string `json:"agent"` // the definition's name
	Mode  Mode   `json:"mode"`
	Depth int    `json:"depth,omitempty"` // levels below the root agent
	// MaxDepth is the root agent's limit on the levels of sub-agents, which applies to all agents below it; nil in the
	// root agent.
	MaxDepth *int `json:"max_depth,omitempty"`
	// Grant limits the spending of a sub-agent.
	Grant Grant `json:"grant,omitzero"`
	// OutputSchema is the JSON schema of this agent's answers. It takes precedence over the definition's schema.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	Definition *Definition `json:"definition,omitempty"`
	PrefixHash string      `json:"head,omitempty"` // HeadHash of Definition.Head

	// Messages is the transcript from the place Dropped on. The messages before that place were summarised. The
	// histories of earlier runs have them.
	Messages []Message `json:"messages,omitempty"`
	Dropped  int       `json:"dropped,omitempty"`
	// Compactions are the summaries, oldest first. Requests use the last one. The others are kept for forks.
	Compactions    []Compaction `json:"compactions,omitempty"`
	TranscriptHash string       `json:"chain,omitempty"` // transcript hash of what is sent

	// Calls are those of the last assistant message while one of them lacks a result.
	Calls []Call `json:"calls,omitempty"`
	// Interrupted are calls in the transcript whose real result may still come: those that were answered as
	// interrupted, and those that were answered with the failure of their sub-agent.
	Interrupted []Call `json:"interrupted,omitempty"`
	// Decisions are the decisions of people on calls, oldest first.
	Decisions []Decision `json:"decisions,omitempty"`

	// Children are the sub-agents, oldest first. They are those that have not ended, those to which a call refers, and
	// the newest of the others. ChildrenDropped counts those that were removed.
	Children        []Child `json:"children,omitempty"`
	ChildrenDropped int     `json:"children_dropped,omitempty"`
	// ChildCounts counts the sub-agents that were made for each input. Its keys are hashes of inputs. An input without
	// an entry has the count ChildCountFloor.
	ChildCounts     map[string]int `json:"minted,omitempty"`
	ChildCountFloor int            `json:"minted_floor,omitempty"`

	Inbox []InboxMessage `json:"inbox,omitempty"`
	// SeenMessageIDs holds the IDs of the newest messages received, oldest first.
	// The IDs of reloads and of lost resumes are among them.
	SeenMessageIDs []string `json:"seen,omitempty"`

	// ResumedFrom is the ID of the run from which the agent was last resumed. Reloads counts how often its definition
	// was read again, including failed reloads.
	ResumedFrom string `json:"resumed_from,omitempty"`
	Reloads     int    `json:"reloads,omitempty"`
	// Reload says that the definition is read again as soon as no call is open and no model call is in flight.
	// ReloadFailure is the reason why the last such reload failed; empty if it did not fail.
	Reload        bool   `json:"reload,omitempty"`
	ReloadFailure string `json:"reload_failure,omitempty"`

	// Reset is the newest run that Temporal began by a reset of an earlier run. Searched is the last run that searched
	// other runs for messages. Searches counts these searches. If Reset and Searched differ, the run Reset has not
	// searched yet. Its history may contain the search of the run that was reset, but that search did not see later
	// runs.
	Reset    string `json:"reset,omitempty"`
	Searched string `json:"searched,omitempty"`
	Searches int    `json:"searches,omitempty"`
	// Recall says that an earlier run may have had the effects that the agent asks for next. A reset sets it. It is
	// cleared by an event that no earlier run can know. Reopened are the keys of the effects that were asked for when
	// the agent was resumed. The run that ended may have had them.
	Recall   bool  `json:"recall,omitempty"`
	Reopened []Key `json:"reopened,omitempty"`

	// Asked is the key of the model call that is in flight.
	Asked Key `json:"asked,omitempty"`

	Turn    Turn  `json:"turn"`
	Usage   Usage `json:"usage"`
	Held    *Held `json:"held,omitempty"`
	TooLong bool  `json:"too_long,omitempty"` // the context has to be compacted
	// Compacted counts the compactions since the last reply. CutBelow is set if the request for a summary of the
	// messages before this place was too long; 0 means that it is not set.
	Compacted int      `json:"compacted,omitempty"`
	CutBelow  int      `json:"cut_below,omitempty"`
	Closing   bool     `json:"closing,omitempty"` // finish instead of waiting
	Outcome   *Outcome `json:"outcome,omitempty"`
}

// Turn is the work from a user's message to the answer.
type Turn struct {
	Number     int `json:"number"` // counts from 1; 0 before the first message
	ModelCalls int `json:"model_calls,omitempty"`
	// Began is the time, in Unix milliseconds, at which the turn began, or at which it went on after it was held or the
	// agent was resumed.
	Began int64 `json:"began,omitempty"`
	// Stopped names the limit that ended the turn: "model_calls", "tokens", "cost" or "time".
	Stopped string `json:"stopped,omitempty"`
	// Corrections counts the requests to the model to correct its answer.
	Corrections int `json:"corrections,omitempty"`
}

// Usage counts what the agent has used. A reply counts once, even if attempts at its model call failed before.
type Usage struct {
	ModelCalls int `json:"model_calls"`
	ToolCalls  int `json:"tool_calls"`
	llm.Usage
	Cost Money `json:"cost,omitempty"` // in 10⁻¹² US dollars
	// Descendants counts the tokens and the cost of the sub-agents that have ended, and of all agents below them.
	Descendants Spending `json:"below,omitzero"`

	// Recalled counts the results of earlier runs that were used instead of running an effect again.
	Recalled int `json:"recalled,omitempty"`
	// Reattached counts sub-agents that were found instead of started.
	Reattached int `json:"reattached,omitempty"`
	// Interrupted counts the calls that were answered as interrupted. Repaired counts the real results that came later.
	Interrupted int `json:"interrupted,omitempty"`
	Repaired    int `json:"repaired,omitempty"`

	// EmptyReplies counts replies without content, after which the model was asked again. Usage includes their tokens.
	// RepairedReplies counts replies whose form did not follow the standard, and was corrected. Compactions counts the
	// summaries that were made because the context was full.
	Compactions     int `json:"compactions,omitempty"`
	EmptyReplies    int `json:"empty_replies,omitempty"`
	RepairedReplies int `json:"repaired_replies,omitempty"`
	// Repeats counts the repeated attempts at model calls.
	Repeats Repeats `json:"repeats,omitzero"`
	// ResumeConflicts counts resumes that lost against another resume. DuplicateEvents counts messages, decisions and
	// results that came again or too late, and changed nothing.
	ResumeConflicts int `json:"resume_conflicts,omitempty"`
	DuplicateEvents int `json:"duplicate_events_ignored,omitempty"`
}

// Repeats counts attempts at model calls that failed or were lost, so that another attempt was made.
type Repeats struct {
	// Attempts counts the attempts before those that brought replies.
	Attempts int `json:"attempts,omitempty"`
	// Lost counts the lost attempts among them. The provider may have billed them, but no reply says for how many
	// tokens.
	Lost int `json:"lost,omitempty"`
	// LostInputTokens are the input tokens of the lost attempts, taken from the replies to the same requests. They are
	// not part of the agent's usage.
	LostInputTokens int `json:"lost_input_tokens,omitempty"`
}

// add adds the attempts before one reply. inputTokens is the number of input tokens of the reply.
func (r *Repeats) add(before Repeats, inputTokens int) {
	r.Attempts += before.Attempts
	r.Lost += before.Lost
	r.LostInputTokens += before.Lost * inputTokens
}

// EmptyReplies counts the replies of a model without content, and their tokens.
type EmptyReplies struct {
	Count int       `json:"count"`
	Usage llm.Usage `json:"usage,omitzero"`
}

// Add returns e with one more empty reply, which had the given usage.
func (e EmptyReplies) Add(usage llm.Usage) EmptyReplies {
	return EmptyReplies{e.Count + 1, e.Usage.Add(usage)}
}

// Held says why the agent waits until a person or program sends a message or resumes it.
type Held struct {
	Key     Key    `json:"key,omitempty"` // the effect that failed; empty if none did
	Class   string `json:"class"`
	Message string `json:"message"`
	Time    int64  `json:"time"`
}

// Status is the status of an agent.
type Status string

// The statuses of an agent. An agent with one of the last three has ended by itself.
const (
	Running   Status = "running"
	Waiting   Status = "waiting"
	HeldUp    Status = "held"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Outcome describes the end of an agent.
type Outcome struct {
	Status Status `json:"status"`
	// Answer is the text of the agent's last message to the user.
	Answer string `json:"answer,omitempty"`
	// Stopped names the limit that ended the last turn early; empty otherwise.
	Stopped string `json:"stopped,omitempty"`
	// Class and Message say why the agent failed. A cancelled agent has only a Message.
	Class   string `json:"class,omitempty"`
	Message string `json:"message,omitempty"`
}

// ModelIdentity returns the part of the keys of the agent's model calls that does not depend on the messages.
func (s *State) ModelIdentity() ModelIdentity { return ModelIdentity{s.Identity, s.PrefixHash} }

// SentCount returns the number of messages that a request sends, without the system message.
func (s *State) SentCount() int {
	return len(s.compaction().messages()) + s.Count() - s.from()
}

// Sent returns message i of the messages that a request sends, in the form in which it is sent. The system message does
// not count.
func (s *State) Sent(i int) llm.Message {
	head := s.compaction().messages()
	if i < len(head) {
		return head[i]
	}
	return s.sent(s.Messages[s.from()-s.Dropped+i-len(head)].Message)
}

// Deadline returns the time at which the running turn reaches its time limit, in Unix milliseconds. It returns 0 if no
// turn runs or the turn has no limit.
func (s *State) Deadline() int64 {
	if s.Definition == nil || s.Definition.Limits.Time == 0 || !s.TurnRuns() {
		return 0
	}
	return s.Turn.Began + s.Definition.Limits.Time.Milliseconds()
}

// TurnRuns reports whether a turn runs: the user's message has no answer yet, the turn is not held, and the agent has
// not ended.
func (s *State) TurnRuns() bool {
	return s.Outcome == nil && s.Held == nil && s.Turn.Number > 0 && !s.answered()
}

// answered reports whether the last message is an answer: a message of the assistant, with no call open.
func (s *State) answered() bool {
	n := len(s.Messages)
	return n > 0 && s.Messages[n-1].Role == llm.Assistant && len(s.Calls) == 0
}

// Answer returns the text of the agent's last message to the user; empty if there is none.
func (s *State) Answer() string {
	for _, m := range slices.Backward(s.Messages) {
		if m.Role == llm.Assistant && len(m.ToolCalls) == 0 {
			return m.Content
		}
	}
	return ""
}

// Status returns the agent's status. If all open calls wait for a person's decision, it is [Waiting].
func (s *State) Status() Status { return s.statusAt(s.Next()) }

// CopiedStatus returns the status, without regard to a search for messages of other runs. In the tasks that a reset
// copies, the run that was reset and the new run have the same CopiedStatus. So a workflow command may depend on it.
func (s *State) CopiedStatus() Status {
	step := s.Next()
	if find, ok := step.(FindMessages); ok {
		step = find.Then
	}
	return s.statusAt(step)
}

func (s *State) statusAt(step Step) Status {
	switch step := step.(type) {
	case Finish:
		return step.Outcome.Status
	case Wait:
		if s.Held != nil {
			return HeldUp
		}
		return Waiting
	case RunTools:
		if !slices.ContainsFunc(step.Calls, func(c Call) bool { return c.Approval != Asked }) {
			return Waiting
		}
	}
	return Running
}

func (s *State) sent(m llm.Message) llm.Message {
	return sent(m, s.Definition != nil && s.Definition.SendReasoning)
}

// append adds m to the transcript.
func (s *State) append(m Message) {
	s.TranscriptHash = HashMessages(s.TranscriptHash, s.sent(m.Message))
	s.Messages = append(s.Messages, m)
}
