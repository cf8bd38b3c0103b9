package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
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
	// ClientTools are tools that the sender of a message runs itself: see [ClientTool]. Only a message can have them.
	ClientTools []ClientTool `json:"client_tools,omitempty"`
	// OutputSchema is a JSON schema that the answer to a message must fit, in place of the agent's own. Only a message can have it:
	// [Start].OutputSchema is for all answers of an agent.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
}

// ClientTool is a tool that exists for one turn. The sender of the message runs its calls: each call waits for its result from outside, as
// one with the effect [EffectExternal].
type ClientTool struct {
	// Name is the name by which the model calls the tool. No tool of the agent has it.
	Name string `json:"name"`
	// Description tells the model what the tool does.
	Description string `json:"description,omitempty"`
	// Schema is the JSON schema of the arguments. Empty means an object with any fields.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// The limits on overrides.
const (
	// MaxAddedInstructions is the largest size of the instructions, in bytes, and of the whole instructions.
	MaxAddedInstructions = 64 << 10
	maxOverriddenTools   = 1000
	// MaxClientTools is the largest number of client tools in a message, and MaxClientToolBytes the largest size of all of them and of the
	// output schema together, in bytes. Each message of the transcript keeps them.
	MaxClientTools     = 100
	MaxClientToolBytes = 128 << 10
	maxOverrideName    = 200
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
	case len(o.ClientTools) > 0 || len(o.OutputSchema) > 0:
		return errors.New("the overrides have client tools or an output schema, which only a message can have")
	case min(o.Limits.ModelCalls, o.Limits.Tokens) < 0 || o.Limits.Cost < 0 || o.Limits.Time < 0:
		return errors.New("a limit in the overrides is negative; leave it out, or set it above 0")
	}
	return nil
}

var clientToolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkClientTools returns an error if a tool or the schema in the overrides of a message is not valid. Whether the agent has a tool with
// the same name, only its definition tells.
func (o Overrides) checkClientTools() error {
	size, names := len(o.OutputSchema), map[string]bool{}
	for _, t := range o.ClientTools {
		size += len(t.Name) + len(t.Description) + len(t.Schema)
		switch {
		case !clientToolName.MatchString(t.Name) || t.Name == Agents || t.Name == AskUser:
			return fmt.Errorf("the client tool %.80q has a name that is not allowed; use up to 64 letters, digits, hyphens and underscores", t.Name)
		case names[t.Name]:
			return fmt.Errorf("two client tools have the name %q; give each tool a name of its own", t.Name)
		case len(t.Schema) > 0 && !unambiguousObject(string(t.Schema)):
			return fmt.Errorf("the schema of the client tool %q is not a JSON object that all parsers read alike", t.Name)
		case !utf8.ValidString(t.Description):
			return fmt.Errorf("the description of the client tool %q is not UTF-8", t.Name)
		}
		names[t.Name] = true
	}
	switch {
	case len(o.ClientTools) > MaxClientTools || size > MaxClientToolBytes:
		return fmt.Errorf("the message has %d client tools, which have %d bytes with the output schema; the limits are %d tools and %d bytes",
			len(o.ClientTools), size, MaxClientTools, MaxClientToolBytes)
	case len(o.OutputSchema) > 0 && !unambiguousObject(string(o.OutputSchema)):
		return errors.New("the output schema of the message is not a JSON object that all parsers read alike")
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
