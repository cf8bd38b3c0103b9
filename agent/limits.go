package agent

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits limit what an agent may use. When the agent reaches the limit ModelCalls, Tokens, Cost or Time, it ends its turn with a message
// to the user: see the field Message. For what zero means, see [Limits.WithDefaults].
type Limits struct {
	// ModelCalls is the largest number of model calls in one turn. A turn goes from a user's message to the answer.
	ModelCalls int `json:"model_calls,omitempty"`
	// Tokens is the largest number of input and output tokens that the agent and all agents below it may use
	// together, from the start of the agent to its end. Zero means no limit.
	Tokens int `json:"tokens,omitempty"`
	// Cost is the largest cost of the agent and all agents below it together: see [Dollars]. It is at least [MinCost]. Zero means no
	// limit.
	Cost Money `json:"cost,omitempty"`
	// Time is the longest duration of one turn, in whole milliseconds. The time between two turns does not count. In JSON, it is a
	// number of nanoseconds.
	Time time.Duration `json:"time,omitempty"`
	// ContextTokens is the number of tokens at which the agent summarises the conversation. The tokens of a request
	// and its reply count together, as the provider counts them. Zero means that the agent summarises only when the
	// provider refuses a request as too long.
	ContextTokens int `json:"context_tokens,omitempty"`
	// Depth is the number of levels of sub-agents below the root agent. For example, 1 means that sub-agents have no
	// sub-agents of their own. Only the value in the root agent's definition counts.
	Depth int `json:"depth,omitempty"`
	// ToolResultBytes is the size, in bytes, to which a longer tool result is cut.
	ToolResultBytes int `json:"tool_result_bytes,omitempty"`
	// CallsPerReply is the largest number of calls of one model reply that may run. Every further call gets an error
	// result.
	CallsPerReply int `json:"calls_per_reply,omitempty"`
	// Background is the largest number of sub-agents of the agent that work in the background at a time: see [Tool].Background.
	Background int `json:"background,omitempty"`
	// Message is what the agent says to its user when a limit ends its turn. [Turn].Stopped names the limit for programs. Empty means a
	// text that names the limit and its value. It has at most [MaxLimitMessage] bytes.
	Message string `json:"message,omitempty"`
}

// The defaults for limits that a definition does not set.
const (
	DefaultModelCalls      = 50
	DefaultTime            = time.Hour
	DefaultDepth           = 3
	DefaultToolResultBytes = 64 << 10
	DefaultCallsPerReply   = 100 // models ask for up to some tens of calls in one reply
	DefaultBackground      = 50
)

func (l Limits) resultBytes() int { return cmp.Or(l.ToolResultBytes, DefaultToolResultBytes) }

func (l Limits) background() int { return cmp.Or(l.Background, DefaultBackground) }

// WithDefaults returns a copy of l in which defaults such as [DefaultModelCalls] replace the zeros. A limit that has
// no default stays zero. Call WithDefaults for limits that a user configures. Do not call it for the limits in the
// [Definition] of a running agent. There, zero means no limit, with three exceptions. A Depth of zero allows no
// sub-agents. A ToolResultBytes of zero means [DefaultToolResultBytes], and a Background of zero means [DefaultBackground].
func (l Limits) WithDefaults() Limits {
	l.ModelCalls = cmp.Or(l.ModelCalls, DefaultModelCalls)
	l.Time = cmp.Or(l.Time, DefaultTime)
	l.Depth = cmp.Or(l.Depth, DefaultDepth)
	l.ToolResultBytes = cmp.Or(l.ToolResultBytes, DefaultToolResultBytes)
	l.CallsPerReply = cmp.Or(l.CallsPerReply, DefaultCallsPerReply)
	l.Background = cmp.Or(l.Background, DefaultBackground)
	return l
}

// MaxToolResultBytes, MaxCallsPerReply and MaxBackground are the largest allowed values of ToolResultBytes, CallsPerReply and
// Background.
const (
	MaxToolResultBytes = 1 << 20
	MaxCallsPerReply   = 1000
	MaxBackground      = 50 // it is smaller than [maxUnanswered], because each of these sub-agents has a call in [State].Unanswered
)

const (
	// MinCost is the smallest value of Cost, a hundredth of a cent. A smaller amount is shown as "$0.0000".
	MinCost = Dollar / 10_000
	// MaxLimitMessage is the largest size of Message, in bytes.
	MaxLimitMessage = 4000
)

// Check returns an error that names the first limit that is out of range, or says that Message is too long, blank or not valid UTF-8. It
// returns nil if there is no such mistake.
func (l Limits) Check() error {
	for _, each := range []struct {
		name        string
		value, most int
	}{
		{"ModelCalls", l.ModelCalls, 0}, {"Tokens", l.Tokens, 0}, {"Cost", int(l.Cost), 0}, {"ContextTokens", l.ContextTokens, 0}, {"Depth", l.Depth, 0},
		{"ToolResultBytes", l.ToolResultBytes, MaxToolResultBytes}, {"CallsPerReply", l.CallsPerReply, MaxCallsPerReply}, {"Background", l.Background, MaxBackground},
	} {
		if each.value < 0 {
			return fmt.Errorf("limit %s is %d: set at least 1, or leave it out for the default", each.name, each.value)
		}
		if each.most > 0 && each.value > each.most {
			return fmt.Errorf("limit %s is %d: set at most %d", each.name, each.value, each.most)
		}
	}
	if l.Cost > 0 && l.Cost < MinCost {
		return fmt.Errorf("limit Cost is %d, in units of 10⁻¹² US dollars, which is less than a hundredth of a cent: write Dollars(%d) for %d US dollars", l.Cost, l.Cost, l.Cost)
	}
	if len(l.Message) > MaxLimitMessage || !utf8.ValidString(l.Message) || l.Message != "" && strings.TrimSpace(l.Message) == "" {
		return fmt.Errorf("limit Message, of %d bytes, is too long, blank or not valid UTF-8: write a text of at most %d bytes", len(l.Message), MaxLimitMessage)
	}
	if l.Time != 0 && l.Time < time.Millisecond {
		return fmt.Errorf("limit Time is %v: set at least 1ms, or leave it out for the default", l.Time)
	}
	return nil
}
