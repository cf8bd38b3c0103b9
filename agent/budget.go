package agent

import (
	"fmt"

	"github.com/reagent-dev/reagent/llm"
)

// Money is an amount in 10⁻¹² US dollars. A whole number, because what it decides
// has to come out the same on every machine: a price of 0.15 dollars per million tokens is 150,000
// a token.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1e12

// Dollars returns the amount in US dollars, for people and lists: it is not exact.
func (m Money) Dollars() float64 { return float64(m) / float64(Dollar) }

// String writes the amount in dollars, down to a hundredth of a cent.
func (m Money) String() string {
	hundredths := (m + Dollar/20_000) / (Dollar / 10_000)
	return fmt.Sprintf("$%d.%04d", hundredths/10_000, hundredths%10_000)
}

// Price is the price of one token. The zero Price is that of a model that costs nothing, or of which
// nobody knows.
type Price struct {
	Input  Money `json:"input,omitempty"`
	Cached Money `json:"cached,omitempty"` // of input tokens that the provider had in its cache
	Output Money `json:"output,omitempty"`
}

// Of returns the cost of a reply.
func (p Price) Of(u llm.Usage) Money {
	cached := min(u.CachedTokens, u.InputTokens)
	return Money(u.InputTokens-cached)*p.Input + Money(cached)*p.Cached + Money(u.OutputTokens)*p.Output
}

// Spending is the number of tokens and the cost of replies.
type Spending struct {
	llm.Usage
	Cost Money `json:"cost,omitempty"` // in 10⁻¹² US dollars
}

// Add returns the sum of both.
func (s Spending) Add(t Spending) Spending {
	return Spending{s.Usage.Add(t.Usage), s.Cost + t.Cost}
}

// Sub returns s without t.
func (s Spending) Sub(t Spending) Spending {
	s.InputTokens -= t.InputTokens
	s.OutputTokens -= t.OutputTokens
	s.CachedTokens -= t.CachedTokens
	s.ReasoningTokens -= t.ReasoningTokens
	s.Cost -= t.Cost
	return s
}

// Tokens counts input and output.
func (s Spending) Tokens() int { return s.InputTokens + s.OutputTokens }

// Grant limits the spending of a sub-agent and all below it: it is a slice of the rest of its parent's budget. A
// zero field sets no bound. It is no part of any key, and is not given again to a sub-agent that is found.
type Grant struct {
	Tokens int   `json:"tokens,omitempty"`
	Cost   Money `json:"cost,omitempty"`
}

// Spent returns what the agent and all below it have spent, as far as it knows.
func (s *State) Spent() Spending {
	return Spending{s.Usage.Usage, s.Usage.Cost}.Add(s.Usage.Descendants)
}

// bounds returns the bounds on the whole tree below and with this agent: its own limits and what it
// was granted, whichever is less.
func (s *State) bounds() Grant {
	return Grant{
		Tokens: lowerLimit(s.Definition.Limits.Tokens, s.Grant.Tokens),
		Cost:   lowerLimit(s.Definition.Limits.Cost, s.Grant.Cost),
	}
}

func lowerLimit[T int | Money](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// reserved returns what is spent or granted to sub-agents that have not told what they spent.
func (s *State) reserved() Spending {
	all := s.Spent()
	for _, c := range s.Children {
		all.InputTokens += c.Grant.Tokens
		all.Cost += c.Grant.Cost
	}
	return all
}

// slice returns what each of n new sub-agents is granted: they and this agent share what is left.
func (s *State) slice(n int) Grant {
	bounds, spent := s.bounds(), s.reserved()
	var g Grant
	// One at least, since zero would be no bound.
	if bounds.Tokens > 0 {
		g.Tokens = max(1, (bounds.Tokens-spent.Tokens())/(n+1))
	}
	if bounds.Cost > 0 {
		g.Cost = max(1, (bounds.Cost-spent.Cost)/Money(n+1))
	}
	return g
}

// settleChild takes back what a sub-agent was granted and did not use. One that was resumed after it had ended tells
// all that it has spent since its beginning.
func (s *State) settleChild(c *Child, spent *Spending) {
	if spent == nil {
		return // one that did not tell may have used all of it
	}
	if c.Spent != nil {
		s.Usage.Descendants = s.Usage.Descendants.Sub(*c.Spent)
	}
	c.Grant, c.Spent = Grant{}, spent
	s.Usage.Descendants = s.Usage.Descendants.Add(*spent)
}

// price returns the price of the candidate that answered.
func (s *State) price(candidate string) Price {
	for i, c := range s.Definition.Candidates {
		if (c.Name == candidate || candidate == "") && i < len(s.Definition.Prices) {
			return s.Definition.Prices[i]
		}
	}
	return Price{}
}
