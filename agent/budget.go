package agent

import (
	"fmt"

	"github.com/reagent-dev/reagent/llm"
)

// Money is an amount in 10⁻¹² US dollars. It is a whole number, so that a sum is the same on every machine. For
// example, a price of 0.15 dollars per million tokens is 150,000 for each token.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1e12

// Dollars returns the amount in US dollars. The result is not exact: use it for display and for search attributes only.
func (m Money) Dollars() float64 { return float64(m) / float64(Dollar) }

// String returns the amount in dollars, rounded to a hundredth of a cent, such as "$0.1260".
func (m Money) String() string {
	hundredths := (m + Dollar/20_000) / (Dollar / 10_000)
	return fmt.Sprintf("$%d.%04d", hundredths/10_000, hundredths%10_000)
}

// Price has the prices of a model for one token. The zero Price means that the model costs nothing, or that its prices
// are unknown.
type Price struct {
	Input  Money `json:"input,omitempty"`
	Cached Money `json:"cached,omitempty"` // price of an input token that the provider had in its cache
	Output Money `json:"output,omitempty"`
}

// Of returns the cost of one model reply at these prices. The usage u counts the tokens of the reply and of its request. The
// cached tokens in u are part of the input tokens.
func (p Price) Of(u llm.Usage) Money {
	cached := min(u.CachedTokens, u.InputTokens)
	return Money(u.InputTokens-cached)*p.Input + Money(cached)*p.Cached + Money(u.OutputTokens)*p.Output
}

// Spending is a number of tokens and their cost.
type Spending struct {
	llm.Usage
	Cost Money `json:"cost,omitempty"` // in 10⁻¹² US dollars
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
	s.ReasoningTokens -= t.ReasoningTokens
	s.Cost -= t.Cost
	return s
}

// Tokens returns the number of input tokens and output tokens together.
func (s Spending) Tokens() int { return s.InputTokens + s.OutputTokens }

// Grant limits what a sub-agent and all agents below it may spend together. The parent gives each new sub-agent a share
// of what is left of its own budget. A zero field means no limit. A sub-agent keeps the grant with which it was
// started. The grant is not part of the sub-agent's key, so a parent that was reset finds the sub-agent even if its own
// budget has changed.
type Grant struct {
	Tokens int   `json:"tokens,omitempty"`
	Cost   Money `json:"cost,omitempty"`
}

// Spent returns what the agent and all agents below it have spent. A sub-agent reports its spending when it ends. Until
// then, Spent does not include the spending of this sub-agent.
func (s *State) Spent() Spending { return s.Usage.Spent() }

// Spent returns the tokens and the cost of the agent itself and of the sub-agents that have ended. The spending of a
// sub-agent includes that of all agents below it.
func (u Usage) Spent() Spending { return Spending{u.Usage, u.Cost}.Add(u.Descendants) }

// bounds returns the limits on the spending of this agent and all agents below it. Each limit is the lower of two: the
// limit in the agent's definition and the limit in its grant. Zero means no limit.
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

// reserved returns how much of the agent's budget is not free: what has been spent, plus the grants of the sub-agents
// that have not yet reported their spending.
func (s *State) reserved() Spending {
	all := s.Spent()
	for _, c := range s.Children {
		all.InputTokens += c.Grant.Tokens
		all.Cost += c.Grant.Cost
	}
	return all
}

// slice returns the grant for each of n new sub-agents. It divides what is left of this agent's budget equally among
// the new sub-agents and this agent.
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

// settleChild adds the spending that the sub-agent c has reported (spent) to the usage of this agent. It also frees the part of
// the budget that was reserved for c. A resumed sub-agent reports everything since its first start, so a new report replaces the
// earlier one. A nil report means that there is none. The reservation then stays.
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

// price returns the prices of the model candidate with the given name; an empty name means the first candidate. If the prices are
// unknown, price returns the zero Price.
func (s *State) price(name string) Price {
	for i, c := range s.Definition.Candidates {
		if (c.Name == name || name == "") && i < len(s.Definition.Prices) {
			return s.Definition.Prices[i]
		}
	}
	return Price{}
}
