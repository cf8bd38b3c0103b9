package agent

import (
	"cmp"

	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/llm"
)

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
// the input tokens in `u`. Each has its own price instead of the input price. The cost is between 0 and [MaxMoney].
func (p Price) Of(u llm.Usage) Money {
	u = u.NonNegative()
	cached := min(u.CachedTokens, u.InputTokens)
	written := min(u.CacheWriteTokens, u.InputTokens-cached)
	return p.Input.Times(u.InputTokens - cached - written).Add(p.Cached.Times(cached)).
		Add(cmp.Or(p.CacheWrite, p.Input).Times(written)).Add(p.Output.Times(u.OutputTokens))
}

// Spending is a number of tokens and what they cost.
type Spending struct {
	llm.Usage
	// Cost is the cost of the tokens, in 10⁻¹² US dollars.
	Cost Money `json:"cost,omitempty"`
}

// Add returns the sum of s and t: see [llm.AddCounts] and [Money.Add].
func (s Spending) Add(t Spending) Spending {
	return Spending{s.Usage.Add(t.Usage), s.Cost.Add(t.Cost)}
}

// beyond returns what s has more than t. A number that is less in s than in t counts as 0.
func (s Spending) beyond(t Spending) Spending {
	more := func(a, b int) int { return max(a, 0) - min(max(a, 0), max(b, 0)) }
	return Spending{llm.Usage{
		InputTokens:      more(s.InputTokens, t.InputTokens),
		OutputTokens:     more(s.OutputTokens, t.OutputTokens),
		CachedTokens:     more(s.CachedTokens, t.CachedTokens),
		CacheWriteTokens: more(s.CacheWriteTokens, t.CacheWriteTokens),
		ReasoningTokens:  more(s.ReasoningTokens, t.ReasoningTokens),
	}, max(s.Cost, 0) - min(max(s.Cost, 0), max(t.Cost, 0))}
}

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

// spending returns the spending of a grant that is used up. The tokens count as input tokens.
func (g Grant) spending() Spending {
	return Spending{Usage: llm.Usage{InputTokens: g.Tokens}, Cost: g.Cost}
}

// Spent returns the tokens and the cost of the agent and of all agents below it. A sub-agent counts when it has reported its spending,
// which it does at its end. One that has ended without a report counts with its whole grant when it leaves the state.
func (s *State) Spent() Spending { return s.Usage.Spent() }

// Spent returns the tokens and the cost of the agent and of the sub-agents that have reported their spending at their ends. The spending
// of a sub-agent includes the spending of all agents below it.
func (u Usage) Spent() Spending { return Spending{u.Usage, u.Cost}.Add(u.Descendants) }

// bounds returns the limits on what this agent and all agents below it may spend together. The agent's definition has
// one limit, and its grant (see [Grant]) has another. The lower of the two counts. Zero means no limit.
func (s *State) bounds() Grant {
	return Grant{
		Tokens: lowerLimit(s.Definition.Limits.Tokens, s.Grant.Tokens),
		Cost:   lowerLimit(s.Definition.Limits.Cost, s.Grant.Cost),
	}
}

// lowerLimit returns the lower of two limits. Zero means no limit. A negative number means no limit, too, so that it does not lift the
// other limit. Only a start input that somebody wrote by hand has one.
func lowerLimit[T int | Money](a, b T) T {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}

// reserved returns how much of the agent's budget is not free. This is what has been spent, plus the grants and margins of
// sub-agents that have not yet reported their spending.
func (s *State) reserved() Spending {
	all := s.Spent()
	for _, c := range s.Children {
		all = all.Add(c.Grant.spending()).Add(c.Margin.spending())
	}
	return all
}

// share is what a new sub-agent gets of the budget of its parent.
type share struct {
	grant, margin Grant
	// refusal says to the model why there is too little for a sub-agent. It is empty if there is enough.
	refusal string
}

// slice returns the share of each of n new sub-agents. It divides what is left of this agent's budget into n+1 equal parts: one for each
// sub-agent, and one that stays with this agent. A sub-agent's part consists of its margin, which is the cost of one reply, and of its
// grant, which is the rest. Nobody knows yet what a reply of the sub-agent costs, so the largest reply of this agent stands for it.
//
// If nothing would be left for the grant, slice refuses the sub-agents. The first reply of each would pass its part, and many sub-agents
// together could pass the limit by many replies. A limit that this agent does not have is zero in the share, too.
func (s *State) slice(n int) share {
	bounds, spent := s.bounds(), s.reserved()
	g := share{margin: s.LargestReply}
	if bounds.Tokens > 0 {
		part := (bounds.Tokens - spent.Tokens()) / (n + 1)
		if g.margin.Tokens > 0 && part <= g.margin.Tokens {
			g.refusal = textNoBudget(plural.Of(g.margin.Tokens, "token"), "limits.tokens")
		}
		g.grant.Tokens = max(1, part-g.margin.Tokens) // 0 would mean no limit
	} else {
		g.margin.Tokens = 0
	}
	if bounds.Cost > 0 {
		part := (bounds.Cost - spent.Cost) / Money(n+1)
		if g.margin.Cost > 0 && part <= g.margin.Cost {
			g.refusal = textNoBudget(g.margin.Cost.String(), "limits.cost")
		}
		g.grant.Cost = max(1, part-g.margin.Cost)
	} else {
		g.margin.Cost = 0
	}
	return g
}

// settleChild records what the sub-agent c has spent. It adds `spent` to the usage of this agent, and frees the part of the budget that
// was reserved for c. If `spent` is nil, the spending is unknown, and the budget stays reserved.
//
// A resumed sub-agent reports all its spending since its first start. So settleChild adds only what the new report has more than the
// earlier one. A report that has less takes nothing away.
func (s *State) settleChild(c *Child, spent *Spending) {
	if spent == nil {
		return // without a report, the sub-agent may have spent its whole grant
	}
	var known Spending
	if c.Spent != nil {
		known = *c.Spent
	}
	more := spent.beyond(known)
	total := known.Add(more)
	c.Grant, c.Margin, c.Spent = Grant{}, Grant{}, &total
	s.Usage.Descendants = s.Usage.Descendants.Add(more)
}

// charge adds tokens and their cost to the usage of this agent. An empty candidate means the first one.
func (s *State) charge(u llm.Usage, candidate string) {
	s.Usage.Usage = s.Usage.Add(u)
	s.Usage.Cost = s.Usage.Cost.Add(s.price(candidate).Of(u))
}

// wrote returns the provider's name of the model that wrote the reply r.
func (s *State) wrote(r llm.Reply) string {
	for _, d := range []*Definition{s.Definition, s.Own()} {
		for _, c := range d.Candidates {
			if c.Name == r.Candidate || r.Candidate == "" {
				return c.Model
			}
		}
	}
	return r.Model
}

// price returns the prices of one of the agent's models: the candidate with the given name. An empty name means the
// first candidate. If the prices are unknown, price returns the zero [Price].
func (s *State) price(name string) Price {
	for _, d := range []*Definition{s.Definition, s.Own()} { // an aside may have begun before the overrides of a turn held
		for i, c := range d.Candidates {
			if (c.Name == name || name == "") && i < len(d.Prices) {
				return d.Prices[i]
			}
		}
	}
	return Price{}
}
