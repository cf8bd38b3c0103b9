// Package agent is the pure core of a durable agent. A [State] is everything that the agent knows. An [Event] is something
// that has happened to the agent. A [Step] is what the agent asks the driver to do next.
//
// A State is plain JSON data. [State.Apply] applies an event to the state. [State.Next] computes the next step from the
// state alone. Therefore a driver that has stored a state goes on by calling Next. Operations have keys, which are hashes of
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
//     [Hold].
//   - Operation: a model call, a tool call or a sub-agent: see [Key]. The result of an operation is recalled if it comes from an
//     earlier run.
//   - Late result: the real result of a call that already has another result in the transcript: see [LateResult].
package agent

import (
	"encoding/json"
	"slices"

	"github.com/reagent-dev/reagent/llm"
)

// Mode says what an agent does after an answer: it ends, or it waits for the next message.
type Mode string

const (
	// Task agents end when they have answered. The zero Mode also means Task.
	Task Mode = "task"
	// Chat agents wait for the next message when they have answered.
	Chat Mode = "chat"
)

// State is everything that an agent knows. The zero State is not valid. [New] returns a valid one. A State is not
// safe for concurrent use. Change it only by [State.Apply], [State.Advance] and [State.Drop].
type State struct {
	Identity
	// Agent is the name of the agent's definition.
	Agent string `json:"agent"`
	// Mode says what the agent does after an answer.
	Mode Mode `json:"mode"`
	// Depth is the number of levels below the root agent.
	Depth int `json:"depth,omitempty"`
	// MaxDepth is the root agent's limit on the levels of sub-agents: see [Limits].Depth. It is nil in the root agent
	// itself.
	MaxDepth *int `json:"max_depth,omitempty"`
	// Grant limits the spending of a sub-agent. It is zero in a root agent, which means no limit.
	Grant Grant `json:"grant,omitzero"`
	// LargestReply has the most tokens and the highest cost of one reply so far: see [Child].Margin.
	LargestReply Grant `json:"largest_reply,omitzero"`
	// OutputSchema is the JSON schema of this agent's answers. It takes precedence over the definition's schema. Empty means the
	// definition's schema.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	// Metadata is the metadata of the agent: see [Start].Metadata.
	Metadata Metadata `json:"metadata,omitempty"`
	// Overrides are those of the agent: see [Start].Overrides. They are in Definition already.
	Overrides Overrides `json:"overrides,omitzero"`

	// Definition is the agent's definition; nil if it has not been read yet.
	Definition *Definition `json:"definition,omitempty"`
	// OwnDefinition is the agent's definition while the overrides of a message hold: see [TurnOverrides]. Definition is then the one with
	// these overrides. It is nil if Definition is the agent's own.
	OwnDefinition *Definition `json:"own_definition,omitempty"`
	// PrefixHash is a hash of the part that all requests with this definition have in common: see [HashPrefix].
	PrefixHash string `json:"prefix_hash,omitempty"`

	// Messages are the messages of the transcript, except those at its beginning that were dropped: see [State.Drop].
	Messages []Message `json:"messages,omitempty"`
	// Dropped is the number of dropped messages. A summary has replaced them. Only the histories of earlier runs have
	// them.
	Dropped int `json:"dropped,omitempty"`
	// Compactions are the summaries, oldest first. Requests send the last one. The earlier ones are kept for forks.
	Compactions []Compaction `json:"compactions,omitempty"`
	// TranscriptHash is a hash of the messages that requests send: see [HashMessages].
	TranscriptHash string `json:"transcript_hash,omitempty"`

	// Calls are the calls of the last assistant message. They stay here until each of them has a result. Then the
	// results enter the transcript.
	Calls []Call `json:"calls,omitempty"`
	// Unanswered are the calls in the transcript that may still get a late result: see [LateResult]. They were left
	// unanswered, or got the failure of their sub-agent.
	Unanswered []Call `json:"unanswered,omitempty"`
	// Decisions are the decisions of people on calls, oldest first.
	Decisions []Decision `json:"decisions,omitempty"`
	// Permissions let calls run without a further decision, oldest first.
	Permissions []Permission `json:"permissions,omitempty"`
	// Revoked are the keys of the permissions that were revoked. They stay because Temporal delivers a decision and its revocation again
	// after a reset, in any order. When there are 1,000, the agent gets no further permission.
	Revoked []Key `json:"revoked,omitempty"`

	// Children are the sub-agents, oldest first. [State.Drop] removes the oldest ended sub-agents to which no call
	// and no message refers.
	Children []Child `json:"children,omitempty"`
	// ChildrenDropped is the number of sub-agents that were removed.
	ChildrenDropped int `json:"children_dropped,omitempty"`
	// ChildCounts has the number of sub-agents that this agent has made for each input. The keys of the map are
	// hashes of inputs.
	ChildCounts map[string]int `json:"child_counts,omitempty"`
	// ChildCountFloor is the number for an input that is not in the map.
	ChildCountFloor int `json:"child_count_floor,omitempty"`

	// Queue are the messages that wait to enter the transcript.
	Queue []QueuedMessage `json:"queue,omitempty"`
	// Checks are the texts that guardrails judge.
	Checks []TextCheck `json:"checks,omitempty"`
	// Withheld is the answer of the model that guardrails judge; nil if there is none.
	Withheld *WithheldAnswer `json:"withheld,omitempty"`
	// Refused are the newest texts that were refused, oldest first.
	Refused []RefusedText `json:"refused,omitempty"`
	// Released is the hold of an interrupted turn that a message has ended, until the agent takes a message. If the message is refused, the
	// turn is held again. It is nil for an agent without guardrails on messages.
	Released *Hold `json:"released,omitempty"`
	// SeenMessageIDs are the IDs of the newest messages that the agent has received, oldest first. The agent ignores
	// a further message with one of these IDs.
	SeenMessageIDs []string `json:"seen_message_ids,omitempty"`
	// SeenReloadIDs and SeenResumeIDs are the same for [ReloadAsked] and for [ResumeLost].
	SeenReloadIDs []string `json:"seen_reload_ids,omitempty"`
	SeenResumeIDs []string `json:"seen_resume_ids,omitempty"`

	// ResumedFrom is the ID of the run from which the agent was last resumed.
	ResumedFrom string `json:"resumed_from,omitempty"`
	// Reloads counts how often the agent's definition was read again, including failed reloads.
	Reloads int `json:"reloads,omitempty"`
	// Reload reports whether the agent has been asked to read its definition again (see [ReloadAsked]) and has not
	// done so yet. It reads the definition when no call is open, no model call is in flight and no summary is to be
	// made.
	Reload bool `json:"reload,omitempty"`
	// ReloadFailure says why the last reload has failed. It is empty if the reload has not failed. Only reloads that
	// a [ReloadAsked] event asked for count here.
	ReloadFailure string `json:"reload_failure,omitempty"`

	// PartialTextUntil is the time until which calls report their partial text, whatever the message of the turn asks for.
	// It is in Unix milliseconds: see [PartialTextAsked].
	PartialTextUntil int64 `json:"partial_text_until,omitempty"`

	// Reset contains the last characters of the ID of the newest run that began by a reset. It is empty if there was
	// no reset.
	Reset string `json:"reset,omitempty"`
	// Searched is the value of the field Reset at the last search of other runs for messages: see [FindMessages]. If
	// Searched and Reset differ, a search is still to be done. A search that the run before the reset made is not
	// enough, because it did not see later runs.
	Searched string `json:"searched,omitempty"`
	// Searches counts the searches of other runs for messages.
	Searches int `json:"searches,omitempty"`
	// Recall reports whether an earlier run may already have the operations that the agent asks for next: see [Key]. A
	// reset sets Recall. An event that no earlier run can know clears Recall, for example a reply that no earlier run
	// has.
	Recall bool `json:"recall,omitempty"`
	// Reopened are the keys of the operations that the agent asked for when it was last resumed. The run that had ended
	// may already have carried out these operations.
	Reopened []Key `json:"reopened,omitempty"`

	// InFlight is the key of the model call that is in flight. It is empty if there is none.
	InFlight Key `json:"in_flight,omitempty"`

	// Turn is the running turn, or the last one if no turn is running.
	Turn Turn `json:"turn"`
	// Usage counts what the agent has used.
	Usage Usage `json:"usage"`
	// Hold says why the turn is held; nil if it is not held.
	Hold *Hold `json:"hold,omitempty"`
	// TooLong reports whether the conversation has to be summarised before the next model call.
	TooLong bool `json:"too_long,omitempty"`
	// Compacted counts the summaries since the last reply. Requests for a summary that were too long count, too.
	Compacted int `json:"compacted,omitempty"`
	// CutBelow is set after a request for a summary that was too long. The next summary replaces fewer messages than
	// this number. 0 means that there is no such limit.
	CutBelow int `json:"cut_below,omitempty"`
	// Closing reports whether the agent finishes instead of waiting for the next message.
	Closing bool `json:"closing,omitempty"`
	// Notifications are the notifications that are to be delivered, oldest first.
	Notifications []Notification `json:"notifications,omitempty"`
	// EndNotified is the time, in Unix milliseconds, of the last end about which the agent has made notifications. It is 0 if there
	// was none.
	EndNotified int64 `json:"end_notified,omitempty"`
	// Outcome describes the end of the agent; nil if the agent has not ended.
	Outcome *Outcome `json:"outcome,omitempty"`

	// lastKey caches the newest result of [State.modelKey], and lastSummary that of [State.compact].
	lastKey     modelKey
	lastSummary summaryStep
	lastCheck   TextCheck // caches the check of a message that has none yet: see [State.take]
}

// Turn is the agent's work from a user's message to the answer.
type Turn struct {
	// Number is the number of the turn, counted from 1. It is 0 before the first message.
	Number int `json:"number"`
	// ModelCalls is the number of model calls in the turn.
	ModelCalls int `json:"model_calls,omitempty"`
	// Began is the time at which the turn began, in Unix milliseconds. If the turn was held, or waited for somebody outside, or if the
	// agent was resumed or reset, it is the time at which the turn went on.
	Began int64 `json:"began,omitempty"`
	// Stopped names the limit that ended the turn: "model_calls", "tokens", "cost" or "time". It is empty if no limit has ended it.
	Stopped string `json:"stopped,omitempty"`
	// Limit is this limit; zero if no limit has ended the turn.
	Limit ReachedLimit `json:"limit,omitzero"`
	// TimeUp reports whether the turn has reached its time limit, and ends when all its calls have a result.
	TimeUp bool `json:"time_up,omitempty"`
	// Corrections counts the answers in this turn that did not fit the output schema.
	Corrections int `json:"corrections,omitempty"`
	// PartialText reports whether a message of the turn asks for partial text: see [QueuedMessage].PartialText.
	PartialText bool `json:"partial_text,omitempty"`
	// Metadata is the metadata of the messages of the turn. That of a later message takes precedence.
	Metadata Metadata `json:"metadata,omitempty"`
	// Overrides are those of the turn; nil if it has none.
	Overrides *TurnOverrides `json:"overrides,omitempty"`
	// Before is what the agent had used when the turn began: see [State.Spent].
	Before Spending `json:"before,omitzero"`
	// Trace says to which trace the turn belongs.
	Trace TurnTrace `json:"trace,omitzero"`
}

// Usage counts what the agent has used. A reply counts once, even if earlier attempts at its model call failed.
type Usage struct {
	// ModelCalls counts the replies of the model.
	ModelCalls int `json:"model_calls"`
	// ToolCalls counts the calls whose result is in the transcript.
	ToolCalls int `json:"tool_calls"`
	// Usage counts the tokens of the agent itself.
	llm.Usage
	// Cost is the cost of these tokens, in 10⁻¹² US dollars.
	Cost Money `json:"cost,omitempty"`
	// Descendants counts the tokens and the cost of the sub-agents that have ended, and of all agents below them.
	Descendants Spending `json:"descendants,omitzero"`

	// Asides counts the answers to questions that are not part of the transcript: see [Aside].
	Asides int `json:"asides,omitempty"`
	// Recalled counts the results of earlier runs that the agent used instead of running an operation (see [Key]) again.
	Recalled int `json:"recalled,omitempty"`
	// Reattached counts the sub-agents whose workflow already existed. The agent only waited for these sub-agents.
	Reattached int `json:"reattached,omitempty"`
	// Unanswered counts the calls that were left unanswered: see [ResultKind.StandsIn].
	Unanswered int `json:"unanswered,omitempty"`
	// Repaired counts the results that came after their call had been left unanswered, or had got the failure
	// of its sub-agent.
	Repaired int `json:"repaired,omitempty"`

	// Compactions counts the summaries that were made because the conversation was too long.
	Compactions int `json:"compactions,omitempty"`
	// EmptyReplies counts the replies without content. The model was asked again after each of them. Their tokens are
	// among the tokens of the agent.
	EmptyReplies int `json:"empty_replies,omitempty"`
	// RepairedReplies counts the replies with mistakes that the model client corrected: see [llm.Reply].Repaired.
	RepairedReplies int `json:"repaired_replies,omitempty"`
	// Repeats counts the repeated attempts at model calls.
	Repeats Repeats `json:"repeats,omitzero"`
	// ResumeConflicts counts the resumes without effect. Another resume had already started the agent again.
	ResumeConflicts int `json:"resume_conflicts,omitempty"`
	// DuplicateEvents counts the messages, decisions, replies and results that came again or too late, and changed
	// nothing.
	DuplicateEvents int `json:"duplicate_events,omitempty"`
}

// Repeats counts the attempts at model calls that brought no usable reply and were followed by another attempt. Each
// of them failed or was lost. An attempt is lost if its worker crashed or lost contact with Temporal.
type Repeats struct {
	// Attempts is the number of failed and lost attempts together.
	Attempts int `json:"attempts,omitempty"`
	// Lost is the number of lost attempts. The provider may have billed a lost attempt. But no reply says how many
	// tokens it used.
	Lost int `json:"lost,omitempty"`
	// LostInputTokens is an estimate of the input tokens of the lost attempts. It assumes that each lost attempt used
	// as many input tokens as the later reply to the same request. The token counts in [Usage] do not include this
	// estimate.
	LostInputTokens int `json:"lost_input_tokens,omitempty"`
}

// maxAttempts is more than the number of attempts that Temporal makes at one activity in a year.
const maxAttempts = 1_000_000

// add adds to r the failed and lost attempts that came before a reply. The parameter `inputTokens` is the number of
// input tokens of the reply. Each lost attempt is assumed to have used the same number.
func (r *Repeats) add(before Repeats, inputTokens int) {
	lost := min(before.Lost, maxAttempts) // so that the product does not overflow
	r.Attempts = llm.AddCounts(r.Attempts, before.Attempts)
	r.Lost = llm.AddCounts(r.Lost, lost)
	r.LostInputTokens = llm.AddCounts(r.LostInputTokens, lost*inputTokens)
}

// EmptyReplies counts a model's replies without content, and their tokens. Such a reply is of no use, but the
// provider bills its tokens.
type EmptyReplies struct {
	// Count is the number of empty replies.
	Count int `json:"count"`
	// Usage counts the tokens of the empty replies.
	Usage llm.Usage `json:"usage,omitzero"`
}

// Add returns e with one more empty reply, which has used the given tokens.
func (e EmptyReplies) Add(usage llm.Usage) EmptyReplies {
	return EmptyReplies{e.Count + 1, e.Usage.Add(usage.Bounded())}
}

// Hold says why a turn is held. A held turn cannot go on before a person or a program acts, for example because the
// provider has refused the API key. In chat mode, the agent waits, and the next message lets the turn go on. In task
// mode, the agent ends as failed, and can be resumed. An agent whose turn a person has interrupted (see [Interrupted]) waits in both
// modes.
type Hold struct {
	// Key is the key of the operation that failed: see [Key]. It is empty if no operation failed.
	Key Key `json:"key,omitempty"`
	// Class is the class of the error.
	Class string `json:"class"`
	// Message says what happened.
	Message string `json:"message"`
	// Actor is the person who has interrupted the turn. It is empty if no person has.
	Actor
	// Time is the time at which the turn was held, in Unix milliseconds.
	Time int64 `json:"time"`
	// Notified reports whether the agent has made the notifications about this hold: see [Notification].
	Notified bool `json:"notified,omitempty"`
}

// Outcome describes the end of an agent.
type Outcome struct {
	// Status says how the agent has ended.
	Status Status `json:"status"`
	// Answer is the text of the agent's last message to the user.
	Answer string `json:"answer,omitempty"`
	// FinishReason says that the answer may not be whole: see [Message].FinishReason.
	FinishReason string `json:"finish_reason,omitempty"`
	// Stopped names the limit that ended the last turn early: see [Turn].Stopped. It is empty if no limit has ended it.
	Stopped string `json:"stopped,omitempty"`
	// Class is the class of the error that made the agent fail. It is empty if the agent has not failed.
	Class string `json:"class,omitempty"`
	// Message says why the agent failed or was cancelled.
	Message string `json:"message,omitempty"`
}

// ModelIdentity returns the part that the keys of all model calls have in common while the agent has its current definition. A
// reload may change it. A key also depends on the messages of its request. For requests for a summary, see
// [State.SummaryIdentity].
func (s *State) ModelIdentity() ModelIdentity { return ModelIdentity{s.Identity, s.PrefixHash} }

// SentCount returns the number of messages that the next model call sends, without the system message.
func (s *State) SentCount() int {
	return len(s.compaction().messages()) + s.Count() - s.from()
}

// Sent returns the message at index i of the next model call, in the form in which the request sends it. Index 0 is
// the first message after the system message. Sent panics if i is not less than [State.SentCount].
func (s *State) Sent(i int) llm.Message {
	head := s.compaction().messages()
	if i < len(head) {
		return head[i]
	}
	return s.sent(s.Messages[s.from()-s.Dropped+i-len(head)].Message)
}

// Deadline returns the time at which the running turn reaches its time limit, in Unix milliseconds. It returns 0 if the agent has no
// definition yet, if no turn is running, or if the turn has no time limit. It also returns 0 while a call waits for somebody outside (see
// [Call.Waits]) or a person is asked about a text: that may take days. And it returns 0 while guardrails judge the answer.
func (s *State) Deadline() int64 {
	if s.Definition == nil || s.Definition.Limits.Time == 0 || !s.TurnRuns() || s.waitsOutside() || s.Withheld != nil {
		return 0
	}
	return s.Turn.Began + s.Definition.Limits.Time.Milliseconds()
}

// TurnRuns reports whether a turn is running: the agent has taken a user's message that has no answer yet, the turn is not held (see
// [Hold]), and the agent has not ended.
func (s *State) TurnRuns() bool {
	return s.Outcome == nil && s.Hold == nil && s.Turn.Number > 0 && !s.answered()
}

// answered reports whether the last message of the transcript is an answer. It is an answer if it comes from the
// assistant and no call is open.
func (s *State) answered() bool {
	n := len(s.Messages)
	return n > 0 && s.Messages[n-1].Role == llm.Assistant && len(s.Calls) == 0
}

// Answer returns the text of the agent's last message to the user. It returns "" if the state has none: see [State].Dropped.
func (s *State) Answer() string { return s.lastAnswer().Content }

// FinishReason returns the finish reason of the agent's last message to the user: see [Message].FinishReason. It is empty if
// the message is whole. For example, "length" means that the message reached the model's output limit.
func (s *State) FinishReason() string { return s.lastAnswer().FinishReason }

// lastAnswer returns the agent's last message to the user. It returns an empty message if there is none.
func (s *State) lastAnswer() Message {
	for _, m := range slices.Backward(s.Messages) {
		if m.answers() {
			return m
		}
	}
	return Message{}
}

func (s *State) sent(m llm.Message) llm.Message {
	return sent(m, s.Definition != nil && s.Definition.SendReasoning)
}

// append adds m to the transcript and updates the hash of the transcript. An answer gets what its turn has used.
func (s *State) append(m Message) {
	if m.answers() {
		m.Spent = s.Spent().beyond(s.Turn.Before)
	}
	s.TranscriptHash = HashMessages(s.TranscriptHash, s.sent(m.Message))
	s.Messages = append(s.Messages, m)
}
