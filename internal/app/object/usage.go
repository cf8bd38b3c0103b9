package object

import (
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
)

// Usage counts what an agent has used, without its sub-agents.
type Usage struct {
	ModelCalls   int `json:"model_calls"`
	ToolCalls    int `json:"tool_calls"`
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CachedTokens and CacheWriteTokens are parts of InputTokens, and ReasoningTokens of OutputTokens.
	CachedTokens     int     `json:"cached_tokens"`
	CacheWriteTokens int     `json:"cache_write_tokens"`
	ReasoningTokens  int     `json:"reasoning_tokens"`
	CostUSD          float64 `json:"cost_usd"`
	Compactions      int     `json:"compactions"`
	// These four fields are the counts of [agent.Usage] with the same names.
	Recalled        int `json:"recalled"`
	Reattached      int `json:"reattached"`
	Unanswered      int `json:"unanswered"`
	Repaired        int `json:"repaired"`
	EmptyReplies    int `json:"empty_replies"`
	RepairedReplies int `json:"repaired_replies"`
	// The provider may have billed the lost attempts in addition to the tokens above.
	RepeatedAttempts int `json:"repeated_attempts"`
	LostAttempts     int `json:"lost_attempts"`
	LostInputTokens  int `json:"lost_input_tokens"`

	ResumeConflicts int `json:"resume_conflicts"`
	DuplicateEvents int `json:"duplicate_events"`
}

// NewUsage returns the object of what an agent has used without its sub-agents.
func NewUsage(u agent.Usage) Usage {
	return Usage{
		ModelCalls: u.ModelCalls, ToolCalls: u.ToolCalls, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
		CachedTokens: u.CachedTokens, CacheWriteTokens: u.CacheWriteTokens, ReasoningTokens: u.ReasoningTokens,
		CostUSD: u.Cost.Dollars(), Compactions: u.Compactions,
		Recalled: u.Recalled, Reattached: u.Reattached, Unanswered: u.Unanswered, Repaired: u.Repaired,
		EmptyReplies: u.EmptyReplies, RepairedReplies: u.RepairedReplies,
		RepeatedAttempts: u.Repeats.Attempts, LostAttempts: u.Repeats.Lost, LostInputTokens: u.Repeats.LostInputTokens,
		ResumeConflicts: u.ResumeConflicts, DuplicateEvents: u.DuplicateEvents,
	}
}

// Spending is what an agent and its sub-agents that have ended have used together.
type Spending struct {
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
}

// NewSpending returns the object of what an agent and its sub-agents have used.
func NewSpending(s agent.Spending) Spending {
	return Spending{s.InputTokens, s.OutputTokens, s.Cost.Dollars()}
}

// Turn is what a turn with an answer has used.
type Turn struct {
	// Model is absent if no model was called.
	Model string `json:"model,omitempty"`
	Spending
}

// newTurn returns the object of what a turn has used; nil if it has used nothing.
func newTurn(u agent.TurnUse) *Turn {
	if u == (agent.TurnUse{}) {
		return nil
	}
	return &Turn{u.Model, NewSpending(u.Spending)}
}

// Actions is an estimate of the actions that Temporal Cloud bills for an agent.
type Actions struct {
	history.Actions

	Total int `json:"total"`
	// CostUSD is absent if no price was given.
	CostUSD float64 `json:"cost_usd,omitempty"`
}
