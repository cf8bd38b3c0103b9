package llm

import "math"

// Usage has the numbers of tokens that the provider reported.
type Usage struct {
	InputTokens      int `json:"input_tokens,omitempty"`
	OutputTokens     int `json:"output_tokens,omitempty"`
	CachedTokens     int `json:"cached_tokens,omitempty"`      // the part of the input tokens that came from a cache
	CacheWriteTokens int `json:"cache_write_tokens,omitempty"` // the part of the input tokens that was written to a cache
	ReasoningTokens  int `json:"reasoning_tokens,omitempty"`   // the part of the output tokens that was used for reasoning
}

// MaxReplyTokens is the largest number that a field of the [Usage] of one reply may have. It is ten times the largest context window
// that providers offer. An endpoint that reports more is wrong, or wants to do harm.
const MaxReplyTokens = 100_000_000

// Bounded returns the usage of one reply with each number limited to the range from 0 to [MaxReplyTokens]. The numbers come from an
// endpoint, which may report anything.
func (u Usage) Bounded() Usage { return u.each(boundedTokens) }

// NonNegative returns the usage with 0 in place of each negative number.
func (u Usage) NonNegative() Usage { return u.each(func(n int) int { return max(n, 0) }) }

func (u Usage) each(f func(int) int) Usage {
	return Usage{f(u.InputTokens), f(u.OutputTokens), f(u.CachedTokens), f(u.CacheWriteTokens), f(u.ReasoningTokens)}
}

func boundedTokens(n int) int { return min(max(n, 0), MaxReplyTokens) }

// Add returns the sum of two usages: see [AddCounts].
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:      AddCounts(u.InputTokens, v.InputTokens),
		OutputTokens:     AddCounts(u.OutputTokens, v.OutputTokens),
		CachedTokens:     AddCounts(u.CachedTokens, v.CachedTokens),
		CacheWriteTokens: AddCounts(u.CacheWriteTokens, v.CacheWriteTokens),
		ReasoningTokens:  AddCounts(u.ReasoningTokens, v.ReasoningTokens),
	}
}

// Tokens returns the sum of the input tokens and the output tokens.
func (u Usage) Tokens() int { return AddCounts(u.InputTokens, u.OutputTokens) }

// AddCounts returns the sum of two counts that come from outside. A negative count counts as 0. A sum that is too large for an int
// becomes the largest int, so a sum is never less than one of its parts.
func AddCounts(a, b int) int {
	a, b = max(a, 0), max(b, 0)
	return a + min(b, math.MaxInt-a)
}
