// Package agent is the pure core of a durable agent. A [State] is everything that the agent knows. An [Event] is something
// that has happened to the agent. A [Step] is what the agent asks the driver to do next.
//
// State is plain JSON data. [State.Apply] applies an event to it. [State.Next] computes the next step from the state alone
// and changes nothing, so a driver that has stored a state goes on by calling Next. Effects have keys, which are hashes of
// their content: see [Key]. The package uses no clock, no randomness, no goroutine and no I/O. Times come with events, in
// Unix milliseconds.
//
//	driver                     core
//	  │  Next() ───────────────▶ step
//	  │  carries out the step
//	  │  Apply(event) ─────────▶ state
//	  └─ repeats
//
// The terms of this package:
//
//   - Run: one Temporal execution of an agent's workflow. A reset, a continue-as-new and a resume begin a new run of the
//     same agent. All runs of an agent have the same incarnation: see [Identity].
//   - Base run: the earlier run whose results a run uses after a reset or a resume: see [Start].
//   - Turn: the work from a user's message to the answer. A turn is held if it cannot go on before someone acts: see
//     [Held].
//   - Effect: a model call, a tool call or a sub-agent: see [Key]. The result of an effect is recalled if it comes from an
//     earlier run.
//   - Late result: the real result of a call that was answered without it: see [LateResult].
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

// State is everything that an agent knows. The zero State is not valid; [New] returns a valid one. A State is not safe
// for concurrent use. Change it only by its methods Apply, Advance and Drop.
type State struct {
	Identity
	Agent string `json:"agent"` // the definition's name
	Mode  Mode   `json:"mode"`
	Depth int    `json:"depth,omitempty"` // levels below the root agent
	// MaxDepth is the root agent's limit on the levels of sub-agents: see [Limits].Depth. It applies to all agents
	// below the root agent. It is nil in the root agent.
	MaxDepth *int `json:"max_depth,omitempty"`
	// Grant limits the spending of a sub-agent.
	Grant Grant `json:"grant,omitzero"`
	// OutputSchema is the JSON schema of this agent's answers. It takes precedence over the definition's schema.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	Definition *Definition `json:"definition,omitempty"`
	PrefixHash string      `json:"head,omitempty"` // see HashPrefix

	// Messages is the transcript without its first Dropped messages. A compaction has summarised these; only the
	// histories of earlier runs still have them.
	Messages []Message `json:"messages,omitempty"`
	Dropped  int       `json:"dropped,omitempty"`
	// Compactions are the summaries, oldest first. Requests send the last one. The earlier ones are kept for forks.
	Compactions    []Compaction `json:"compactions,omitempty"`
	TranscriptHash string       `json:"chain,omitempty"` // of the messages that are sent: see HashMessages

	// Calls are the tool calls of the last assistant message. They stay here until all of them have a result; then the
	// results enter the transcript.
	Calls []Call `json:"calls,omitempty"`
	// Interrupted are the calls in the transcript for which a late result may still come: calls that were answered as
	// interrupted, and calls that were answered with the failure of their sub-agent.
	Interrupted []Call `json:"interrupted,omitempty"`
	// Decisions are the decisions of people on calls, oldest first.
	Decisions []Decision `json:"decisions,omitempty"`

	// Children are the sub-agents, oldest first. [State.Drop] removes the oldest ended sub-agents to which no call or
	// message refers. ChildrenDropped counts the sub-agents that were removed.
	Children        []Child `json:"children,omitempty"`
	ChildrenDropped int     `json:"children_dropped,omitempty"`
	// ChildCounts has the number of sub-agents that this agent has made for each input. The keys of the map are hashes
	// of inputs. ChildCountFloor is the number for an input that is not in the map.
	ChildCounts     map[string]int `json:"minted,omitempty"`
	ChildCountFloor int            `json:"minted_floor,omitempty"`

	Inbox []InboxMessage `json:"inbox,omitempty"`
	// SeenMessageIDs holds the IDs of the newest messages received, oldest first. The agent ignores a message with one
	// of these IDs. The IDs of reloads and of lost resumes are among them.
	SeenMessageIDs []string `json:"seen,omitempty"`

	// ResumedFrom is the ID of the run from which the agent was last resumed. Reloads counts how often the agent's
	// definition was read again, including failed reloads.
	ResumedFrom string `json:"resumed_from,omitempty"`
	Reloads     int    `json:"reloads,omitempty"`
	// Reload reports whether the running agent was asked to read its definition again, by [ReloadAsked], and has not
	// done so yet. It does so as soon as no call is open, no model call is in flight and no summary is to be made.
	// ReloadFailure says why the last reload that was asked for in this way failed; empty if it did not fail.
	Reload        bool   `json:"reload,omitempty"`
	ReloadFailure string `json:"reload_failure,omitempty"`

	// Reset is the newest run of the agent that began by a reset. Searched is the value of Reset at the last search of
	// other runs for messages: see [FindMessages]. Both are ends of run IDs; empty if there was no reset or no search.
	// Searches counts the searches. If Reset and Searched differ, a search for the run Reset is still to be done. The
	// history of this run may contain an earlier search, by the run that was reset; but that search did not see later
	// runs.
	Reset    string `json:"reset,omitempty"`
	Searched string `json:"searched,omitempty"`
	Searches int    `json:"searches,omitempty"`
	// Recall reports whether an earlier run may already have the effects that the agent asks for next: see [Key]. A
	// reset sets it. An event that no earlier run can know clears it, for example a reply that no earlier run has.
	// Reopened are the keys of the effects that the agent asked for at the moment when it was last resumed. The run
	// that had ended may have had these effects, too.
	Recall   bool  `json:"recall,omitempty"`
	Reopened []Key `json:"reopened,omitempty"`

	// Asked is the key of the model call that is in flight.
	Asked Key `json:"asked,omitempty"`

	Turn    Turn  `json:"turn"`
	Usage   Usage `json:"usage"`
	Held    *Held `json:"held,omitempty"`
	TooLong bool  `json:"too_long,omitempty"` // the context has to be compacted
	// Compacted counts the compactions since the last reply. It includes requests for a summary that were too long.
	// CutBelow is set after such a request: the next summary replaces fewer than CutBelow messages. 0 means that it is
	// not set.
	Compacted int      `json:"compacted,omitempty"`
	CutBelow  int      `json:"cut_below,omitempty"`
	Closing   bool     `json:"closing,omitempty"` // finish instead of waiting
	Outcome   *Outcome `json:"outcome,omitempty"`
}

// Turn is the agent's work from a user's message to the answer. State.Turn is the running turn, or the last one if none
// is running.
type Turn struct {
	Number     int `json:"number"` // counts from 1; 0 before the first message
	ModelCalls int `json:"model_calls,omitempty"`
	// Began is the time, in Unix milliseconds, at which the turn began, or at which it went on after it was held or the
	// agent was resumed.
	Began int64 `json:"began,omitempty"`
	// Stopped names the limit that ended the turn: "model_calls", "tokens", "cost" or "time".
	Stopped string `json:"stopped,omitempty"`
	// Corrections counts the answers in this turn that did not fit the output schema.
	Corrections int `json:"corrections,omitempty"`
}

// Usage counts what the agent has used. A reply counts once, even if earlier attempts at its model call failed.
type Usage struct {
	ModelCalls int `json:"model_calls"`
	ToolCalls  int `json:"tool_calls"`
	llm.Usage
	Cost Money `json:"cost,omitempty"` // in 10⁻¹² US dollars
	// Descendants counts the tokens and the cost of the sub-agents that have ended, and of all agents below them.
	Descendants Spending `json:"below,omitzero"`

	// Recalled counts the results of earlier runs that were used instead of running an effect again.
	Recalled int `json:"recalled,omitempty"`
	// Reattached counts the sub-agents that this agent only waited for, because their workflow already existed.
	Reattached int `json:"reattached,omitempty"`
	// Interrupted counts the calls that were answered as interrupted. Repaired counts the results that came after their
	// call was answered as interrupted, or with the failure of its sub-agent.
	Interrupted int `json:"interrupted,omitempty"`
	Repaired    int `json:"repaired,omitempty"`

	// Compactions counts the summaries that were made because the conversation was too long. EmptyReplies counts the
	// replies without content; the model was asked again after each of them. Usage includes their tokens.
	// RepairedReplies counts the replies with mistakes that the model client corrected: see [llm.Reply].Repaired.
	Compactions     int `json:"compactions,omitempty"`
	EmptyReplies    int `json:"empty_replies,omitempty"`
	RepairedReplies int `json:"repaired_replies,omitempty"`
	// Repeats counts the repeated attempts at model calls.
	Repeats Repeats `json:"repeats,omitzero"`
	// ResumeConflicts counts the resumes that had no effect, because another resume had already started the agent
	// again. DuplicateEvents counts the messages, decisions, replies and results that changed nothing, because they
	// came again or too late.
	ResumeConflicts int `json:"resume_conflicts,omitempty"`
	DuplicateEvents int `json:"duplicate_events_ignored,omitempty"`
}

// Repeats counts the attempts at model calls that brought no usable reply and were followed by another attempt. Such an
// attempt either failed or was lost. It was lost if its worker crashed or lost contact with Temporal.
type Repeats struct {
	// Attempts is the number of these attempts, failed and lost together.
	Attempts int `json:"attempts,omitempty"`
	// Lost is the number of the lost attempts among them. The provider may have billed a lost attempt, but no reply says
	// how many tokens it used.
	Lost int `json:"lost,omitempty"`
	// LostInputTokens is an estimate of the input tokens of the lost attempts. It assumes that a lost attempt used as
	// many input tokens as the later reply to the same request. The token counts in [Usage] do not include them.
	LostInputTokens int `json:"lost_input_tokens,omitempty"`
}

// add adds to r the failed and lost attempts that came before a reply (before). Each lost attempt is assumed to have used as many
// input tokens as the reply (inputTokens).
func (r *Repeats) add(before Repeats, inputTokens int) {
	r.Attempts += before.Attempts
	r.Lost += before.Lost
	r.LostInputTokens += before.Lost * inputTokens
}

// EmptyReplies counts a model's replies without content, and their tokens. Such a reply is of no use, but its tokens
// have to be paid.
type EmptyReplies struct {
	Count int       `json:"count"`
	Usage llm.Usage `json:"usage,omitzero"`
}

// Add returns e with one more empty reply and the tokens of this reply (usage).
func (e EmptyReplies) Add(usage llm.Usage) EmptyReplies {
	return EmptyReplies{e.Count + 1, e.Usage.Add(usage)}
}

// Held says why a turn is held. A turn is held if it cannot go on before a person or a program acts, for example
// because the provider has refused the API key. In chat mode, the agent waits, and the next message lets the turn go
// on. In task mode, the agent ends as failed, and can be resumed.
type Held struct {
	Key     Key    `json:"key,omitempty"` // key of the effect that failed; empty if no effect failed
	Class   string `json:"class"`
	Message string `json:"message"`
	Time    int64  `json:"time"`
}

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

// ModelIdentity returns what the keys of all model calls of the agent have in common: everything in a key except the
// messages. For requests for a summary, see [State.SummaryIdentity].
func (s *State) ModelIdentity() ModelIdentity { return ModelIdentity{s.Identity, s.PrefixHash} }

// SentCount returns the number of messages that the next model call sends. The system message does not count.
func (s *State) SentCount() int {
	return len(s.compaction().messages()) + s.Count() - s.from()
}

// Sent returns the message with index i of the next model call, in the form in which the request sends it. The system message has
// no index, so index 0 is the message after it. Sent panics if i is not less than [State.SentCount].
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

func (s *State) sent(m llm.Message) llm.Message {
	return sent(m, s.Definition != nil && s.Definition.SendReasoning)
}

// append adds m to the transcript and updates the transcript hash.
func (s *State) append(m Message) {
	s.TranscriptHash = HashMessages(s.TranscriptHash, s.sent(m.Message))
	s.Messages = append(s.Messages, m)
}
