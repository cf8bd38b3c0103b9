package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/llm"
)

// Agent is the JSON form of an agent. Scripts read this form. Fields may be added, but must not be changed.
type Agent struct {
	ID     string        `json:"id"`
	Agent  string        `json:"agent"`
	Status client.Status `json:"status"`
	// Digest tells the agent's definition from others. The field is absent if the agent has no definition yet.
	Digest string `json:"digest,omitempty"`
	// Metadata is what the program that started the agent knew about it. The field is absent if there is none.
	Metadata agent.Metadata `json:"metadata,omitempty"`
	Messages []Message      `json:"messages"`
	// Earlier is the number of older messages, which are not in `Messages`. A summary has replaced them; the flag `--all`
	// shows them.
	Earlier int       `json:"earlier_messages,omitempty"`
	Retry   *retry    `json:"retry,omitempty"`
	Pending []pending `json:"pending"`
	// Inbox has the agent's queue: the messages that the agent has not taken yet.
	Inbox    []queued `json:"queue,omitempty"`
	Children []child  `json:"children"`
	// EarlierChildren is the number of sub-agents that are not in `Children`. They are sub-agents that ended long ago, and
	// sub-agents that have not started yet.
	EarlierChildren int   `json:"earlier_children,omitempty"`
	Usage           usage `json:"usage"`
	// Actions is an estimate of the billed actions. The field is absent without the flag `--actions`.
	Actions *Actions `json:"actions,omitempty"`
	Result  string   `json:"result,omitempty"`
	// FinishReason is the provider's finish reason of an answer that may not be whole, such as "length". The field is absent for
	// other answers.
	FinishReason string `json:"finish_reason,omitempty"`
	// Stopped names the limit that ended the last turn. The field is absent if no limit ended the turn.
	Stopped string `json:"stopped,omitempty"`
	Error   string `json:"error,omitempty"`
}

type retry struct {
	What    string `json:"what"`
	Class   string `json:"class"`
	Message string `json:"message"`
	Attempt int    `json:"attempt"`
	// Next is the time of the next attempt. The field is absent while an attempt runs.
	Next time.Time `json:"next,omitzero"`
	// Until is the time from which on the call is not tried again. The field is absent if the number of attempts is limited instead.
	Until time.Time `json:"until,omitzero"`
}

// Message is the JSON form of a message of the transcript. Scripts read this form. Fields may be added, but must not be changed.
type Message struct {
	Role       llm.Role       `json:"role"`
	Content    string         `json:"content"`
	ToolCalls  []llm.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	// FinishReason is the provider's finish reason of a reply that may not be whole. The field is absent for other messages.
	FinishReason string    `json:"finish_reason,omitempty"`
	Key          agent.Key `json:"key,omitempty"`
	// DecidedBy says who has decided on the call of this result, or has given the result. The field is absent for other messages.
	DecidedBy *decider `json:"decided_by,omitempty"`
	// Metadata is what the sender of the message knew about it. The field is absent if there is none.
	Metadata agent.Metadata `json:"metadata,omitempty"`
	Time     time.Time      `json:"time"`
	// TookMS is how long the model call or the tool call took that ended with the message, in milliseconds, with what it waited for. Only
	// "starter show" sets it. The field is absent if it is not known.
	TookMS int64 `json:"took_ms,omitempty"`
}

type decider struct {
	By         string    `json:"by,omitempty"`
	From       string    `json:"from,omitempty"`
	Denied     bool      `json:"denied,omitempty"`
	Remembered bool      `json:"remembered,omitempty"`
	Time       time.Time `json:"time"`
}

type pending struct {
	Key       agent.Key `json:"key"`
	CallID    string    `json:"call_id"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	State     string    `json:"state"`
}

type queued struct {
	ID    string    `json:"id"`
	Text  string    `json:"text"`
	Steer bool      `json:"steer,omitempty"`
	Time  time.Time `json:"time"`
}

type child struct {
	ID     string        `json:"id"`
	Agent  string        `json:"agent"`
	Status client.Status `json:"status"`
}

type usage struct {
	ModelCalls   int `json:"model_calls"`
	ToolCalls    int `json:"tool_calls"`
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CachedTokens is a part of InputTokens.
	CachedTokens int `json:"cached_tokens"`
	// CacheWriteTokens is a part of InputTokens.
	CacheWriteTokens int `json:"cache_write_tokens"`
	// ReasoningTokens is a part of OutputTokens.
	ReasoningTokens int `json:"reasoning_tokens"`
	// CostUSD is the cost of the agent without its sub-agents, in US dollars.
	CostUSD float64 `json:"cost_usd"`
	// Tree counts the agent and all sub-agents that have ended.
	Tree        Spending `json:"tree"`
	Compactions int      `json:"compactions"`
	// These four fields are the counts of [agent.Usage] with the same names.
	Recalled   int `json:"recalled"`
	Reattached int `json:"reattached"`
	Unanswered int `json:"unanswered"`
	Repaired   int `json:"repaired"`
	// EmptyReplies counts replies without content. After such a reply, the model was called again.
	EmptyReplies int `json:"empty_replies"`
	// RepairedReplies counts replies in an unusual form that the worker could repair.
	RepairedReplies int `json:"repaired_replies"`
	// RepeatedAttempts counts the attempts at model calls that failed or were lost before another attempt brought the reply.
	RepeatedAttempts int `json:"repeated_attempts"`
	// LostAttempts counts those of the repeated attempts that their worker did not report. The provider may have billed the
	// lost attempts in addition to the tokens above.
	LostAttempts int `json:"lost_attempts"`
	// LostInputTokens counts the input tokens of the lost attempts.
	LostInputTokens int `json:"lost_input_tokens"`

	ResumeConflicts int `json:"resume_conflicts"`
	DuplicateEvents int `json:"duplicate_events"`
}

// Actions is the JSON form of an estimate of the actions that Temporal Cloud bills for an agent.
type Actions struct {
	history.Actions
	Total int `json:"total"`
	// CostUSD is the cost in US dollars. The field is absent if no price was given.
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// String returns the estimate as one line for people.
func (v *Actions) String() string {
	text := fmt.Sprintf("billed actions: about %d (starts %d, activities %d, retries %d, heartbeats %d, timers %d, updates %d, signals %d, changes of search attributes %d, waits %d)",
		v.Total, v.Starts, v.Activities, v.Retries, v.Heartbeats, v.Timers, v.Updates, v.Signals, v.Attributes, v.Waits)
	if v.CostUSD > 0 {
		text += fmt.Sprintf("; $%.6f", v.CostUSD)
	}
	return text
}

// Spending is the JSON form of [agent.Spending].
type Spending struct {
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
}

// NewSpending returns the JSON form of what an agent and its sub-agents have used.
func NewSpending(s agent.Spending) Spending {
	return Spending{s.InputTokens, s.OutputTokens, dollars(s.Cost)}
}

func dollars(m agent.Money) float64 { return float64(m) / float64(agent.Dollar) }

// NewAgent returns the JSON form of an agent. `Result` is empty unless the agent has completed.
func NewAgent(s client.Snapshot) Agent {
	v := Agent{
		ID: s.ID, Agent: s.Agent, Status: s.Status, Digest: s.Digest, Metadata: s.Metadata, FinishReason: s.FinishReason, Stopped: s.Stopped, Error: s.Failure,
		Messages: []Message{}, Earlier: s.First, Pending: []pending{}, Children: []child{}, EarlierChildren: s.ChildCount - len(s.Children),
		Usage: usage{
			ModelCalls: s.Usage.ModelCalls, ToolCalls: s.Usage.ToolCalls, InputTokens: s.Usage.InputTokens, OutputTokens: s.Usage.OutputTokens,
			CachedTokens: s.Usage.CachedTokens, CacheWriteTokens: s.Usage.CacheWriteTokens, ReasoningTokens: s.Usage.ReasoningTokens,
			CostUSD: dollars(s.Usage.Cost), Tree: NewSpending(s.Usage.Spent()), Compactions: s.Usage.Compactions,
			Recalled: s.Usage.Recalled, Reattached: s.Usage.Reattached, Unanswered: s.Usage.Unanswered, Repaired: s.Usage.Repaired,
			EmptyReplies: s.Usage.EmptyReplies, RepairedReplies: s.Usage.RepairedReplies,
			RepeatedAttempts: s.Usage.Repeats.Attempts, LostAttempts: s.Usage.Repeats.Lost, LostInputTokens: s.Usage.Repeats.LostInputTokens,
			ResumeConflicts: s.Usage.ResumeConflicts, DuplicateEvents: s.Usage.DuplicateEvents,
		},
	}
	if s.Status == client.Completed {
		v.Result = s.Answer
	}
	if r := s.Retry; r != nil {
		v.Retry = &retry{What: r.What, Class: r.Class, Message: r.Message, Attempt: r.Attempt, Next: r.Next, Until: r.Until}
	}
	clock := progress.Clock{Started: s.Started}
	for _, m := range s.Messages {
		shown := NewMessage(m)
		shown.TookMS = clock.Took(m).Milliseconds()
		v.Messages = append(v.Messages, shown)
	}
	for _, c := range s.Pending {
		state := cmp.Or(string(c.WaitsFor()), "running")
		v.Pending = append(v.Pending, pending{Key: c.Key, CallID: c.CallID, Tool: c.Name, Arguments: c.Arguments, State: state})
	}
	for _, m := range s.Queue {
		v.Inbox = append(v.Inbox, queued{ID: m.ID, Text: m.Text, Steer: m.Steer, Time: time.UnixMilli(m.Time).UTC()})
	}
	for _, c := range s.Children {
		v.Children = append(v.Children, child(c))
	}
	return v
}

// NewMessage returns the JSON form of a message, without the opaque data that a provider has added to tool calls.
func NewMessage(m agent.Message) Message {
	calls := slices.Clone(m.ToolCalls)
	for i := range calls {
		calls[i].Opaque = llm.Opaque{} // only the provider understands it
	}
	v := Message{
		Role: m.Role, Content: m.Content, ToolCalls: calls, ToolCallID: m.ToolCallID,
		FinishReason: m.FinishReason, Key: m.Key, Metadata: m.Metadata, Time: time.UnixMilli(m.Time).UTC(),
	}
	if d := m.Decider; d != nil {
		v.DecidedBy = &decider{By: d.By, From: d.From, Denied: d.Denied, Remembered: d.Remembered, Time: time.UnixMilli(d.Time).UTC()}
	}
	return v
}
