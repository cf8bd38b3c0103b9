package agent

import (
	"cmp"
	"fmt"

	"github.com/reagent-dev/reagent/llm"
)

// Money is an amount of money, as a whole number of 10⁻¹² US dollars. Sums of whole numbers need no rounding, and are
// the same on every machine. For example, a price of 0.15 dollars per million tokens is 150,000 for each token.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1e12

// Dollars returns the amount in US dollars. The result is not exact. Use it for display and for search attributes
// only.
func (m Money) Dollars() float64 { return float64(m) / float64(Dollar) }

// String returns the amount in dollars, rounded to a hundredth of a cent, such as "$0.1260".
func (m Money) String() string {
	hundredths := (m + Dollar/20_000) / (Dollar / 10_000)
	return fmt.Sprintf("$%d.%04d", hundredths/10_000, hundredths%10_000)
}

// Price has the prices of one token of a model. The zero Price means that the tokens cost nothing, or that the prices
// are unknown.
type Price struct {
	// Input is the price of an input token.
	Input Money `json:"input,omitempty"`
	// Cached is the price of an input token that the provider had in its cache.
	Cached Money `json:"cached,omitempty"`
	// CacheWrite is the price of an input token that the provider wrote to its cache. Zero means that such a token costs as
	// much as any other input token.
	CacheWrite Money `json:"cache_write,omitempty"`
	// Output is the price of an output token.
	Output Money `json:"output,omitempty"`
}

// Of returns the cost of the tokens `u` at these prices. The cached tokens and the tokens written to the cache are parts of
// the input tokens in `u`. Each has its own price instead of the input price.
func (p Price) Of(u llm.Usage) Money {
	cached := min(u.CachedTokens, u.InputTokens)
	written := min(u.CacheWriteTokens, u.InputTokens-cached)
	return Money(u.InputTokens-cached-written)*p.Input + Money(cached)*p.Cached + Money(written)*cmp.Or(p.CacheWrite, p.Input) +
		Money(u.OutputTokens)*p.Output
}

// Spending is a number of tokens and what they cost.
type Spending struct {
	llm.Usage
	// Cost is the cost of the tokens, in 10⁻¹² US dollars.
	Cost Money `json:"cost,omitempty"`
}

// Add returns the sum of s and t.
func (s Spending) Add(t Spending) Spending {
	return Spending{s.Usage.Add(t.Usage), s.Cost + t.Cost}
}

// Sub returns s minus t.
func (s Spending) Sub(t Spending) Spending {
	s.InputTokens -= t.InputTokens
	s.OutputTokens -= t.OutputTokens
	s.CachedTokens -= t.CachedTokens
	s.CacheWriteTokens -= t.CacheWriteTokens
	s.ReasoningTokens -= t.ReasoningTokens
	s.Cost -= t.Cost
	return s
}

// Tokens returns the sum of the input tokens and the output tokens.
func (s Spending) Tokens() int { return s.InputTokens + s.OutputTokens }

// Grant is the part of a parent's budget that a sub-agent may spend. It limits the spending of the sub-agent and of
// all agents below it together. A zero field means no limit. A sub-agent keeps the grant with which it was started.
// The grant is not part of the sub-agent's key. Therefore a parent finds its sub-agent again after a reset, even if
// the parent's budget has changed.
type Grant struct {
	// Tokens is the largest number of input and output tokens together.
	Tokens int `json:"tokens,omitempty"`
	// Cost is the largest cost, in 10⁻¹² US dollars.
	Cost Money `json:"cost,omitempty"`
}

// Spent returns the tokens and the cost of the agent and of all agents below it. A sub-agent counts only when it has
// ended, because it reports its spending at its end.
func (s *State) Spent() Spending { return s.Usage.Spent() }

// Spent returns the tokens and the cost of the agent and of the sub-agents that have ended. The spending of a
// sub-agent includes the spending of all agents below it.
func (u Usage) Spent() Spending { return Spending{u.Usage, u.Cost}.Add(u.Descendants) }

// bounds returns the limits on what this agent and all agents below it may spend together. The agent's definition has
// one limit, and its grant (see [Grant]) has another. The lower of the two counts. Zero means no limit.
func (s *State) bounds() Grant {
	return Grant{
		Tokens: lowerLimit(s.Definition.Limits.Tokens, s.Grant.Tokens),
		Cost:   lowerLimit(s.Definition.Limits.Cost, s.Grant.Cost),
	}
}

// lowerLimit returns the lower of two limits. Zero means no limit.
func lowerLimit[T int | Money](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// reserved returns how much of the agent's budget is not free. This is what has been spent, plus the grants of
// sub-agents that have not yet reported their spending. The tokens of a grant count as input tokens.
func (s *State) reserved() Spending {
	all := s.Spent()
	for _, c := range s.Children {
		all.InputTokens += c.Grant.Tokens
		all.Cost += c.Grant.Cost
	}
	return all
}

// slice returns the grant (see [Grant]) for each of n new sub-agents. It divides what is left of this agent's budget
// into n+1 equal parts. One part stays with this agent. If there is a limit, each grant is at least 1, because 0
// would mean no limit.
func (s *State) slice(n int) Grant {
	bounds, spent := s.bounds(), s.reserved()
	var g Grant
	// A grant is at least 1, because 0 would mean no limit.
	if bounds.Tokens > 0 {
		g.Tokens = max(1, (bounds.Tokens-spent.Tokens())/(n+1))
	}
	if bounds.Cost > 0 {
		g.Cost = max(1, (bounds.Cost-spent.Cost)/Money(n+1))
	}
	return g
}

// settleChild records what the sub-agent c has spent. It adds `spent` to the usage of this agent, and frees the part
// of the budget that was reserved for c. A resumed sub-agent reports all its spending since its first start. Therefore
// a new report replaces the earlier one. If `spent` is nil, the spending is unknown, and the budget stays reserved.
func (s *State) settleChild(c *Child, spent *Spending) {
	if spent == nil {
		return // without a report, the sub-agent may have spent its whole grant
	}
	if c.Spent != nil {
		s.Usage.Descendants = s.Usage.Descendants.Sub(*c.Spent)
	}
	c.Grant, c.Spent = Grant{}, spent
	s.Usage.Descendants = s.Usage.Descendants.Add(*spent)
}

// price returns the prices of one of the agent's models: the candidate with the given name. An empty name means the
// first candidate. If the prices are unknown, price returns the zero [Price].
func (s *State) price(name string) Price {
	for i, c := range s.Definition.Candidates {
		if (c.Name == name || name == "") && i < len(s.Definition.Prices) {
			return s.Definition.Prices[i]
		}
	}
	return Price{}
}
