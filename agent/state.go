// Package agent is the pure core of a durable agent: what it is ([State]), what can
// happen to it ([Event]), and what it does next ([Step]).
//
// State is plain JSON data. [State.Apply] is its only mutation and [State.Next] is a
// question about it. There is no phase, no counter for identities and no first-run branch: resuming an
// agent is asking Next. The package knows no clock, no randomness, no
// goroutine and no I/O; times enter with events, in Unix milliseconds.
//
//	driver                     core
//	  │  Next() ───────────────▶ step
//	  │  does the step
//	  │  Apply(what happened) ─▶ state
//	  └─ again
package agent

import (
	"encoding/json"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Mode says what an agent does when it has answered.
type Mode string

const (
	// Task agents end with the answer. The zero Mode means Task.
	Task Mode = "task"
	// Chat agents wait for the next message.
	Chat Mode = "chat"
)

// State is everything an agent knows. The zero State is not valid: see [New].
// A State is not safe for concurrent use; only Apply may change it.
type State struct {
	Identity
	Agent string `json:"agent"` // the definition's name
	Mode  Mode   `json:"mode"`
	Depth int    `json:"depth,omitempty"` // levels below the root agent
	// MaxDepth is the root agent's limit, which holds for the whole tree; nil in a root.
	MaxDepth *int `json:"max_depth,omitempty"`
	// Grant limits the spending of a sub-agent.
	Grant Grant `json:"grant,omitzero"`
	// OutputSchema is the JSON schema of this agent's answers. It takes precedence over that of the definition.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	Definition *Definition `json:"definition,omitempty"`
	PrefixHash string      `json:"head,omitempty"` // HeadHash of Definition.Head

	// Messages is the transcript from the place Dropped on. The messages before it were summarised, and
	// are in the histories of earlier runs.
	Messages []Message `json:"messages,omitempty"`
	Dropped  int       `json:"dropped,omitempty"`
	// Compactions are the summaries, oldest first. The last one counts; the others are for forks.
	Compactions    []Compaction `json:"compactions,omitempty"`
	TranscriptHash string       `json:"chain,omitempty"` // hash of what is sent

	// Calls are those of the last assistant message while one of them lacks a result.
	Calls []Call `json:"calls,omitempty"`
	// Interrupted are calls in the transcript whose real result may still come: those that were answered as
	// interrupted, and those whose sub-agent ended without an answer.
	Interrupted []Call `json:"interrupted,omitempty"`
	// Decisions of people on calls, oldest first.
	Decisions []Decision `json:"decisions,omitempty"`

	// Children are the sub-agents, oldest first: all that have not ended, and of the others those that a call
	// refers to and the newest. ChildrenDropped counts those that are not here any more.
	Children        []Child `json:"children,omitempty"`
	ChildrenDropped int     `json:"children_dropped,omitempty"`
	// ChildCounts counts, by the hash of its input, how many children a request has made. MintedFloor is the count of an
	// input that is not in Minted.
	ChildCounts     map[string]int `json:"minted,omitempty"`
	ChildCountFloor int            `json:"minted_floor,omitempty"`

	Inbox []InboxMessage `json:"inbox,omitempty"`
	// SeenMessageIDs holds the IDs of the newest messages received, oldest first.
	SeenMessageIDs []string `json:"seen,omitempty"`

	// ResumedFrom is the ID of the run that this agent was last resumed from, Reloads how often
	// its definition was read anew.
	ResumedFrom string `json:"resumed_from,omitempty"`
	Reloads     int    `json:"reloads,omitempty"`
	// Reload says that the definition is to be read anew when no call is open and no model is asked. ReloadFailure tells why the
	// last one that was asked for in this way could not be read.
	Reload        bool   `json:"reload,omitempty"`
	ReloadFailure string `json:"reload_failure,omitempty"`

	// Reset is the newest run that Temporal began by a reset of an earlier one. Searched is the last run that searched other runs
	// for messages. Searches counts these searches. If Reset and Searched differ, the run has not searched yet: its history may hold
	// the search of the run that was reset, but that one did not see later runs.
	Reset    string `json:"reset,omitempty"`
	Searched string `json:"searched,omitempty"`
	Searches int    `json:"searches,omitempty"`
	// Recall says that an earlier run may have had what the agent asks for next. It is set by a reset, until
	// something happens that no earlier run can know. Reopened are the effects that were asked for when the agent was
	// resumed: the run that ended may have them.
	Recall   bool  `json:"recall,omitempty"`
	Reopened []Key `json:"reopened,omitempty"`

	// Asked is the key of the model call that is under way.
	Asked Key `json:"asked,omitempty"`

	Turn    Turn  `json:"turn"`
	Usage   Usage `json:"usage"`
	Held    *Held `json:"held,omitempty"`
	TooLong bool  `json:"too_long,omitempty"` // the context has to be compacted
	// Compacted is how often it was since the last reply, CutBelow the place from which a
	// summary was too much to ask for; 0 means none.
	Compacted int      `json:"compacted,omitempty"`
	CutBelow  int      `json:"cut_below,omitempty"`
	Closing   bool     `json:"closing,omitempty"` // finish instead of waiting
	Outcome   *Outcome `json:"outcome,omitempty"`
}

// Turn is the work between a user's message and its answer.
type Turn struct {
	Number     int `json:"number"` // from 1; 0 before the first message
	ModelCalls int `json:"model_calls,omitempty"`
	// Began is the time at which the turn began, or went on after it was held, in Unix milliseconds.
	Began int64 `json:"began,omitempty"`
	// Stopped names the limit that ended the turn: "model_calls", "tokens", "cost" or "time".
	Stopped string `json:"stopped,omitempty"`
	// Corrections counts the requests to correct the answer.
	Corrections int `json:"corrections,omitempty"`
}

// Usage counts what the agent has consumed. A reply counts once, however often it was retried.
type Usage struct {
	ModelCalls int `json:"model_calls"`
	ToolCalls  int `json:"tool_calls"`
	llm.Usage
	Cost Money `json:"cost,omitempty"` // in 10⁻¹² US dollars
	// Descendants counts the tokens and the cost of the sub-agents that have ended, and of their sub-agents.
	Descendants Spending `json:"below,omitzero"`

	// Recalled counts results of earlier runs that were used without running anything.
	Recalled int `json:"recalled,omitempty"`
	// Reattached counts sub-agents that were found rather than started.
	Reattached int `json:"reattached,omitempty"`
	// Interrupted counts calls that were answered without their own result, and
	// Repaired those whose own result came after all.
	Interrupted int `json:"interrupted,omitempty"`
	Repaired    int `json:"repaired,omitempty"`

	// EmptyReplies counts replies that said nothing and were asked for again; their tokens
	// are in Usage. RepairedReplies counts those that an endpoint gave in a shape of its own.
	// Compactions counts the summaries of a context that was full.
	Compactions     int `json:"compactions,omitempty"`
	EmptyReplies    int `json:"empty_replies,omitempty"`
	RepairedReplies int `json:"repaired_replies,omitempty"`
	// Repeats are the attempts at model calls that were made again.
	Repeats Repeats `json:"repeats,omitzero"`
	// ResumeConflicts counts resumes that lost against another one, DuplicateEvents messages,
	// decisions and results that came again and changed nothing.
	ResumeConflicts int `json:"resume_conflicts,omitempty"`
	DuplicateEvents int `json:"duplicate_events_ignored,omitempty"`
}

// Repeats counts attempts at model calls that were repeated.
type Repeats struct {
	// Attempts counts those before the ones that brought the replies.
	Attempts int `json:"attempts,omitempty"`
	// Lost counts those among them whose worker was lost. The provider may have billed them, and no reply tells
	// for how many tokens.
	Lost int `json:"lost,omitempty"`
	// LostInputTokens are the input tokens of the lost attempts, taken from the replies to the same requests. They are
	// not part of the agent's usage.
	LostInputTokens int `json:"lost_input_tokens,omitempty"`
}

// add counts the repeats before one reply, whose request had so many input tokens.
func (r *Repeats) add(before Repeats, inputTokens int) {
	r.Attempts += before.Attempts
	r.Lost += before.Lost
	r.LostInputTokens += before.Lost * inputTokens
}

// EmptyReplies are replies of a model that said nothing.
type EmptyReplies struct {
	Count int       `json:"count"`
	Usage llm.Usage `json:"usage,omitzero"`
}

// Add returns the sum of both.
func (e EmptyReplies) Add(usage llm.Usage) EmptyReplies {
	return EmptyReplies{e.Count + 1, e.Usage.Add(usage)}
}

// Held is the reason why the agent does nothing until someone acts.
type Held struct {
	Key     Key    `json:"key,omitempty"` // the effect that failed
	Class   string `json:"class"`
	Message string `json:"message"`
	Time    int64  `json:"time"`
}

// Status tells in a word where an agent stands.
type Status string

// The states of an agent. The last three are the ways in which it ends itself.
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
	// Answer is the last thing the agent said.
	Answer string `json:"answer,omitempty"`
	// Stopped names the limit that cut the last turn short; empty otherwise.
	Stopped string `json:"stopped,omitempty"`
	// Class and Message tell why it failed.
	Class   string `json:"class,omitempty"`
	Message string `json:"message,omitempty"`
}

// ModelIdentity returns what the keys of the agent's model calls are made of, beside their messages.
func (s *State) ModelIdentity() ModelIdentity { return ModelIdentity{s.Identity, s.PrefixHash} }

// SentCount returns how many messages a request sends, the system message aside.
func (s *State) SentCount() int {
	return len(s.compaction().messages()) + s.Count() - s.from()
}

// Sent returns message i of those a request sends, the system message aside, in
// the form in which it is sent.
func (s *State) Sent(i int) llm.Message {
	head := s.compaction().messages()
	if i < len(head) {
		return head[i]
	}
	return s.sent(s.Messages[s.from()-s.Dropped+i-len(head)].Message)
}

// Deadline returns when the running turn's time is up, in Unix milliseconds; 0
// when no turn runs or it has no limit.
func (s *State) Deadline() int64 {
	if s.Definition == nil || s.Definition.Limits.Time == 0 || !s.TurnRuns() {
		return 0
	}
	return s.Turn.Began + s.Definition.Limits.Time.Milliseconds()
}

// TurnRuns reports whether a user's message waits for its answer and nothing holds it.
func (s *State) TurnRuns() bool {
	return s.Outcome == nil && s.Held == nil && s.Turn.Number > 0 && !s.answered()
}

// answered reports whether the last message is an answer: the assistant's, with no call open.
func (s *State) answered() bool {
	n := len(s.Messages)
	return n > 0 && s.Messages[n-1].Role == llm.Assistant && len(s.Calls) == 0
}

// Answer returns the last thing the agent said to the user; empty if nothing.
func (s *State) Answer() string {
	for _, m := range slices.Backward(s.Messages) {
		if m.Role == llm.Assistant && len(m.ToolCalls) == 0 {
			return m.Content
		}
	}
	return ""
}

// Status tells where the agent stands. One that waits for a person's decision waits.
func (s *State) Status() Status { return s.statusAt(s.Next()) }

// CopiedStatus returns the status as if the agent had no search for messages of other runs to do. A run and a reset of it have the
// same CopiedStatus in the tasks that the reset copies, so a workflow command may depend on it.
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
