package agent

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"
)

// Overrides change the definition of one agent from its start on (see [Start].Overrides), or for one turn (see [QueuedMessage].Overrides),
// within what the definition allows. The worker applies those of the start when it reads the definition, and again with each reload. The
// zero value changes nothing.
type Overrides struct {
	// Model is the name of the model that the agent uses in place of its first one. It is one of the agent's own models, or one of its choices.
	// The fallback models stay, except this one.
	Model string `json:"model,omitempty"`
	// ReasoningEffort takes the place of that of the model. It is one of the agent's choices.
	ReasoningEffort string `json:"reasoning_effort,omitempty"`
	// Instructions are added to those of the definition, after an empty line.
	Instructions string `json:"instructions,omitempty"`
	// WholeInstructions take the place of the instructions of the definition. Only a worker in development mode accepts them, because they
	// are more than a definition allows. The other Instructions are added to them.
	WholeInstructions string `json:"whole_instructions,omitempty"`
	// Tools are the only tools and sub-agents that the agent keeps, in the form in which its configuration names them, such as "price" and
	// "files.*". Empty means all.
	Tools []string `json:"tools,omitempty"`
	// Limits are lower limits; those that are higher than the agent's own have no effect. Only ModelCalls, Tokens, Cost and Time may be set.
	Limits Limits `json:"limits,omitzero"`
}

// The limits on overrides.
const (
	// MaxAddedInstructions is the largest size of the instructions, in bytes, and of the whole instructions.
	MaxAddedInstructions = 64 << 10
	maxOverriddenTools   = 1000
	maxOverrideName      = 200
)

// Equal reports whether two overrides are the same.
func (o Overrides) Equal(other Overrides) bool {
	same := slices.Equal(o.Tools, other.Tools)
	o.Tools, other.Tools = nil, nil
	return same && reflect.DeepEqual(o, other)
}

// Check returns an error if the overrides cannot hold for any agent. Whether they hold for a given one, only its worker knows.
func (o Overrides) Check() error {
	allowed := Limits{ModelCalls: o.Limits.ModelCalls, Tokens: o.Limits.Tokens, Cost: o.Limits.Cost, Time: o.Limits.Time}
	switch {
	case len(o.Model) > maxOverrideName || len(o.ReasoningEffort) > maxOverrideName:
		return fmt.Errorf("the model or the effort in the overrides has more than %d bytes", maxOverrideName)
	case max(len(o.Instructions), len(o.WholeInstructions)) > MaxAddedInstructions || !utf8.ValidString(o.Instructions+o.WholeInstructions):
		return fmt.Errorf("the instructions in the overrides have more than %d bytes, or are not UTF-8", MaxAddedInstructions)
	case len(o.Tools) > maxOverriddenTools:
		return fmt.Errorf("the overrides name %d tools; the limit is %d", len(o.Tools), maxOverriddenTools)
	case o.Limits != allowed:
		return errors.New("the overrides set a limit that cannot be lowered for one agent; set only model_calls, tokens, cost and time")
	case min(o.Limits.ModelCalls, o.Limits.Tokens) < 0 || o.Limits.Cost < 0 || o.Limits.Time < 0:
		return errors.New("a limit in the overrides is negative; leave it out, or set it above 0")
	}
	return nil
}

// With returns the overrides with those of `more`. What is set in `more` takes precedence.
func (o Overrides) With(more Overrides) Overrides {
	o.Model = cmp.Or(more.Model, o.Model)
	o.ReasoningEffort = cmp.Or(more.ReasoningEffort, o.ReasoningEffort)
	o.Instructions = cmp.Or(more.Instructions, o.Instructions)
	o.WholeInstructions = cmp.Or(more.WholeInstructions, o.WholeInstructions)
	if len(more.Tools) > 0 {
		o.Tools = more.Tools
	}
	o.Limits.ModelCalls = cmp.Or(more.Limits.ModelCalls, o.Limits.ModelCalls)
	o.Limits.Tokens = cmp.Or(more.Limits.Tokens, o.Limits.Tokens)
	o.Limits.Cost = cmp.Or(more.Limits.Cost, o.Limits.Cost)
	o.Limits.Time = cmp.Or(more.Limits.Time, o.Limits.Time)
	return o
}

// Lowered returns the limits with those of `by` that are lower. A limit that is zero does not limit.
func (l Limits) Lowered(by Limits) Limits {
	l.ModelCalls = lower(l.ModelCalls, by.ModelCalls)
	l.Tokens = lower(l.Tokens, by.Tokens)
	l.Cost = lower(l.Cost, by.Cost)
	l.Time = lower(l.Time, by.Time)
	return l
}

func lower[N ~int | ~int64](a, b N) N {
	const none = math.MaxInt64
	if least := min(cmp.Or(int64(a), none), cmp.Or(int64(b), none)); least < none {
		return N(least)
	}
	return 0
}
