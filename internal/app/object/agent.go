package object

import (
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// Agent is everything about an agent.
type Agent struct {
	ID     string        `json:"id"`
	Agent  string        `json:"agent"`
	Status client.Status `json:"status"`
	// WaitsFor is absent if the agent works or has ended.
	WaitsFor client.WaitsFor `json:"waits_for,omitempty"`
	// Digest is absent if the agent has no definition yet.
	Digest   string         `json:"digest,omitempty"`
	Metadata agent.Metadata `json:"metadata,omitempty"`
	Messages []Message      `json:"messages"`
	// EarlierMessages is the number of older messages, which are not in Messages. A summary has replaced them; the flag --all shows them.
	EarlierMessages int      `json:"earlier_messages,omitempty"`
	Retry           *Retry   `json:"retry,omitempty"`
	OpenCalls       []Call   `json:"open_calls"`
	Queue           []Queued `json:"queue"`
	// Refused are the newest texts that guardrails, or the people whom they asked, have refused, oldest first.
	Refused   []Refusal  `json:"refused,omitempty"`
	SubAgents []SubAgent `json:"sub_agents"`
	// EarlierSubAgents is the number of sub-agents that are not in SubAgents: they ended long ago, or have not started yet.
	EarlierSubAgents int      `json:"earlier_sub_agents,omitempty"`
	Usage            Usage    `json:"usage"`
	Spent            Spending `json:"spent"`
	// Actions is absent without the flag --actions.
	Actions *Actions `json:"actions,omitempty"`
	// Answer is absent while a turn runs, and if the last turn ended without an answer.
	Answer string `json:"answer,omitempty"`
	// Turn is absent if there is no answer.
	Turn *Turn `json:"turn,omitempty"`
	// FinishReason is absent if the answer is whole.
	FinishReason string `json:"finish_reason,omitempty"`
	// Stopped is absent if no limit ended the last turn.
	Stopped string `json:"stopped,omitempty"`
	// Limit is this limit. It is absent if only its name is known.
	Limit *agent.ReachedLimit `json:"limit,omitempty"`
	// Refusal is absent unless the last message, or the answer to it, was refused.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Error and Class are absent unless the agent is held, or has ended without an answer.
	Error string `json:"error,omitempty"`
	Class string `json:"class,omitempty"`
}

func (Agent) kind() string { return "agent" }

// SubAgent is a sub-agent of an [Agent].
type SubAgent struct {
	ID     string        `json:"id"`
	Agent  string        `json:"agent"`
	Status client.Status `json:"status"`
}

// Queued is a message that an [Agent] has not taken yet.
type Queued struct {
	MessageID string `json:"message_id"`
	Content   string `json:"content"`
	Steer     bool   `json:"steer,omitempty"`
	Time      Time   `json:"time"`
}

// Retry is a call that failed and is tried again.
type Retry struct {
	Operation string `json:"operation"`
	Class     string `json:"class"`
	Error     string `json:"error"`
	Attempt   int    `json:"attempt"`
	// Next is absent while an attempt runs.
	Next Time `json:"next,omitzero"`
	// Until is absent if the number of attempts is limited instead.
	Until Time `json:"until,omitzero"`
}

// NewAgent returns the object of a whole agent. `took` returns how long the call took that ended with a message; it is called for each message
// in the order of the transcript.
func NewAgent(s client.Snapshot, took func(agent.Message) time.Duration) Agent {
	v := Agent{
		ID: s.ID, Agent: s.Agent, Status: s.Status, WaitsFor: s.WaitsFor, Digest: s.Digest, Metadata: s.Metadata, Messages: []Message{},
		EarlierMessages: s.First, OpenCalls: []Call{}, Queue: []Queued{}, SubAgents: []SubAgent{}, EarlierSubAgents: s.ChildCount - len(s.Children),
		Usage: NewUsage(s.Usage), Spent: NewSpending(s.Usage.Spent()), Answer: answer(s), Turn: newTurn(agent.AnswerUse(s.Messages)), FinishReason: s.FinishReason,
		Stopped: s.Stopped, Limit: newLimit(s), Refusal: newRefusalOf(s), Error: s.Failure, Class: s.Class,
	}
	if r := s.Retry; r != nil {
		v.Retry = &Retry{Operation: r.What, Class: r.Class, Error: r.Message, Attempt: r.Attempt, Next: Time(r.Next), Until: Time(r.Until)}
	}
	for _, m := range s.Messages {
		one := newMessage(m)
		one.TookMS = Millis(took(m))
		v.Messages = append(v.Messages, one)
	}
	for _, c := range s.Pending {
		v.OpenCalls = append(v.OpenCalls, newCall(c))
	}
	for _, m := range s.Queue {
		v.Queue = append(v.Queue, Queued{MessageID: m.ID, Content: m.Text, Steer: m.Steer, Time: at(m.Time)})
	}
	for _, r := range s.Refused {
		v.Refused = append(v.Refused, newRefusal(r))
	}
	for _, c := range s.Children {
		v.SubAgents = append(v.SubAgents, SubAgent(c))
	}
	return v
}

// newLimit returns the limit that ended the last turn; nil if none did, or if it is not known.
func newLimit(s client.Snapshot) *agent.ReachedLimit {
	if s.Stopped == "" || s.Limit == (agent.ReachedLimit{}) {
		return nil
	}
	return new(s.Limit)
}

// answer returns the answer of the last turn. A snapshot from a worker has only the beginning of a long answer, so the answer of an agent that
// waits is taken from its messages.
func answer(s client.Snapshot) string {
	switch {
	case s.Status == client.Completed:
		return s.Answer
	case s.Status == client.Waiting && len(s.Messages) > 0:
		if last := s.Messages[len(s.Messages)-1]; last.Role == llm.Assistant && len(last.ToolCalls) == 0 {
			return last.Content
		}
	}
	return ""
}
