package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// MaxMessageInstructions is the largest size of the instructions in the overrides of a message, in bytes. It is smaller than
// [MaxAddedInstructions], because each message of the transcript keeps them.
const MaxMessageInstructions = 16 << 10

// TurnOverrides are the overrides of the running turn: those of the message that began it. If a person has interrupted the turn and then
// sent a message with overrides, they are those of that message.
type TurnOverrides struct {
	// Message is the ID of the message.
	Message string `json:"message"`
	// Overrides are those of the message.
	Overrides Overrides `json:"overrides"`
	// Budget is how much the agent may have spent when the turn has used up its limits of tokens and cost. Zero means no such limit.
	Budget Grant `json:"budget,omitzero"`
}

// TurnDefinition is what the overrides of a message make of the agent's definition. Fields that are zero leave the definition as it is. The
// activity that makes it has checked the overrides. So the reasoning effort, the instructions and the limits come from the overrides.
type TurnDefinition struct {
	// Candidates, Prices, TaskQueue and SendReasoning are those of the definition with another model. They and Params are only set if the
	// overrides name a model.
	Candidates    []llm.Candidate `json:"candidates,omitempty"`
	Prices        []Price         `json:"prices,omitempty"`
	TaskQueue     string          `json:"task_queue,omitempty"`
	SendReasoning bool            `json:"send_reasoning,omitempty"`
	// Params are the parameters of this model.
	Params *llm.Params `json:"params,omitempty"`
	// Tools are the names of the tools and sub-agents that the turn keeps, as the model knows them. Empty means all.
	Tools []string `json:"tools,omitempty"`
}

type (
	// ResolveOverrides asks for what the overrides of the turn make of the definition.
	ResolveOverrides struct {
		Key       Key
		Overrides Overrides
	}

	// OverridesResolved says what the overrides of the turn make of the definition. They hold until another turn begins.
	OverridesResolved struct {
		Key        Key
		Definition TurnDefinition
		Time       int64
	}

	// OverridesRefused says that the definition does not allow the overrides of the turn, or that they cannot be checked. The turn ends
	// with this message and without a model call, because one without the overrides could do what the sender has forbidden. If no message
	// waits, the agent is held: see [Hold].
	OverridesRefused struct {
		Key     Key
		Class   string
		Message string
		Time    int64
	}
)

func (s ResolveOverrides) wants(key Key) bool { return s.Key == key }

// checkOfMessage is [Overrides.Check] for the overrides of a message.
func (o Overrides) checkOfMessage() error {
	if max(len(o.Instructions), len(o.WholeInstructions)) > MaxMessageInstructions {
		return fmt.Errorf("the instructions in the overrides of the message have more than %d bytes; put them into the text of the message, or into the overrides of the start", MaxMessageInstructions)
	}
	if err := o.checkClientTools(); err != nil {
		return err
	}
	o.ClientTools, o.OutputSchema = nil, nil
	return o.Check()
}

// overridesOf returns the overrides that the message m gives to its turn; nil if it has none.
func (s *State) overridesOf(m QueuedMessage) *TurnOverrides {
	if m.Overrides.Equal(Overrides{}) {
		return nil
	}
	o := &TurnOverrides{Message: m.ID, Overrides: m.Overrides}
	spent := s.reserved()
	if tokens := m.Overrides.Limits.Tokens; tokens > 0 {
		o.Budget.Tokens = llm.AddCounts(spent.Tokens(), tokens)
	}
	if cost := m.Overrides.Limits.Cost; cost > 0 {
		o.Budget.Cost = spent.Cost.Add(cost)
	}
	return o
}

// override gives the turn the overrides `o`, and removes those that held before. `o` may be nil.
func (s *State) override(o *TurnOverrides) {
	s.Turn.Overrides = o
	if own := s.OwnDefinition; own != nil {
		s.OwnDefinition = nil
		s.define(own)
	}
}

// define makes d the definition that holds now.
func (s *State) define(d *Definition) {
	reasoned := s.Definition != nil && s.Definition.SendReasoning
	s.Definition = d
	if d.SendReasoning != reasoned {
		s.TranscriptHash = s.hashSent(s.SentCount()) // requests send the messages in another form now
	}
	s.PrefixHash = HashPrefix(d.RequestPrefix())
}

// Own returns the definition of the agent without the overrides of the turn; nil if the agent has not read it yet.
func (s *State) Own() *Definition {
	if s.OwnDefinition != nil {
		return s.OwnDefinition
	}
	return s.Definition
}

// unresolved reports whether the overrides of the running turn do not hold yet.
func (s *State) unresolved() bool {
	return s.Turn.Overrides != nil && s.OwnDefinition == nil && s.Definition != nil && !s.answered()
}

func (s *State) resolve() ResolveOverrides {
	return ResolveOverrides{Key: s.overridesKey(s.Turn.Overrides.Message, s.Reloads), Overrides: s.Turn.Overrides.Overrides}
}

// resolves reports whether the next step is to resolve the overrides of the turn, under the given key.
func (s *State) resolves(key Key) bool {
	step, ok := s.next().(ResolveOverrides)
	return ok && step.Key == key
}

func (e OverridesResolved) apply(s *State) bool {
	if !s.resolves(e.Key) {
		return false
	}
	own, o := s.Definition, s.Turn.Overrides
	d := o.with(*own, e.Definition)
	s.OwnDefinition = own
	s.define(&d)
	s.advanceTranscript(e.Time)
	return true
}

// with returns the definition d with the overrides, and with what they make of it.
func (o *TurnOverrides) with(d Definition, is TurnDefinition) Definition {
	if len(is.Candidates) > 0 {
		d.Candidates, d.Prices, d.TaskQueue, d.SendReasoning = is.Candidates, is.Prices, is.TaskQueue, is.SendReasoning
	}
	if is.Params != nil {
		schema := d.Params.OutputSchema
		d.Params = *is.Params
		d.Params.OutputSchema = schema
	}
	d.Params.ReasoningEffort = cmp.Or(o.Overrides.ReasoningEffort, d.Params.ReasoningEffort)
	d.Instructions = addInstructions(cmp.Or(o.Overrides.WholeInstructions, d.Instructions), o.Overrides.Instructions)
	if len(is.Tools) > 0 {
		d.Tools = slices.DeleteFunc(slices.Clone(d.Tools), func(t Tool) bool { return !slices.Contains(is.Tools, t.Name) })
	}
	if len(o.Overrides.ClientTools) > 0 {
		d.Tools = slices.Clip(d.Tools)
	}
	for _, t := range o.Overrides.ClientTools {
		if _, known := d.Tool(t.Name); !known { // the activity refuses such overrides
			d.Tools = append(d.Tools, Tool{Name: t.Name, Description: t.Description, Schema: clientToolSchema(t.Schema), Effect: EffectExternal})
		}
	}
	if len(o.Overrides.OutputSchema) > 0 {
		d.Params.OutputSchema = o.Overrides.OutputSchema
	}
	limits := o.Overrides.Limits
	limits.Tokens, limits.Cost = o.Budget.Tokens, o.Budget.Cost
	d.Limits = d.Limits.Lowered(limits)
	return d
}

func clientToolSchema(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return schema
}

func addInstructions(to, more string) string {
	if more == "" {
		return to
	}
	return strings.TrimPrefix(to+"\n\n"+strings.ToValidUTF8(more, "\uFFFD"), "\n\n")
}

func (e OverridesRefused) apply(s *State) bool {
	if !s.resolves(e.Key) {
		return false
	}
	s.append(Message{
		Message: llm.Message{Role: llm.Assistant, Content: textOverridesRefused(e.Message)},
		Notice:  true, Time: e.Time,
	})
	if len(s.Queue) == 0 { // a message that waits begins the next turn, as it does after an answer
		s.Hold = &Hold{Key: e.Key, Class: e.Class, Message: e.Message, Time: e.Time}
	}
	return true
}

func (id Identity) overridesKey(message string, reloads int) Key {
	return id.key(KindOverrides, struct {
		Message string `json:"message"`
		Reloads int    `json:"reloads,omitempty"`
	}{message, reloads})
}
