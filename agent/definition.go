package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Definition is what an agent is: read once when it starts and then pinned in its
// state, so that a later change of the configuration does not disturb it. It
// holds names and parameters; where a model is found, with which key and how long it may
// take stays with the worker.
type Definition struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`

	Candidates []llm.Candidate `json:"candidates"`
	// Prices are those of the candidates. What a model costs is no part of what is asked of it.
	Prices       []Price    `json:"prices,omitempty"`
	Params       llm.Params `json:"params,omitzero"`
	Instructions string     `json:"instructions,omitempty"`
	// Queue is the task queue of the model's calls, where they have one that limits their rate.
	Queue string `json:"queue,omitempty"`

	// Tools are the tools and sub-agents that the model may call, sorted by name.
	Tools  []Tool `json:"tools,omitempty"`
	Limits Limits `json:"limits,omitzero"`
	// SendReasoning sends back what the model thought, which some models demand.
	SendReasoning bool `json:"send_reasoning,omitempty"`
	// KeepAgents lets sub-agents that nobody waits for any more go on when the agent ends with its
	// answer. Else they are cancelled.
	KeepAgents bool `json:"keep_agents,omitempty"`
}

// Tool is one thing the model may call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`

	// Ref is the name under which a worker finds the tool. Empty for a sub-agent.
	Ref string `json:"ref,omitempty"`
	// Effect is one of the constants of package tool; empty means at most once.
	Effect string `json:"effect,omitempty"`
	// Queue is the task queue of the one worker that can run the tool; empty means
	// any worker of the agent's own.
	Queue string `json:"queue,omitempty"`
	// Approval says that a person has to agree to each call.
	Approval bool `json:"approval,omitempty"`

	// Agent is set for a sub-agent: the name of its definition.
	Agent string `json:"agent,omitempty"`
	// BudgetMS is the time, in milliseconds, that a call waits for the sub-agent before it is answered
	// as interrupted, in milliseconds; 0 means as long as something happens in it: see [ChildIdleMS].
	BudgetMS int64 `json:"budget_ms,omitempty"`
}

// RequestPrefix returns the part of every request that stays the same from call to call:
// candidates, parameters, tools and the system message. The system message is the
// instructions as they are; there is none when they are empty.
func (d *Definition) RequestPrefix() llm.Request {
	head := llm.Request{Candidates: d.Candidates, Params: d.Params}
	for _, t := range d.Tools {
		head.Tools = append(head.Tools, llm.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	// The order must not depend on the one in which the tools were configured:
	// providers cache prompts by their prefix.
	slices.SortFunc(head.Tools, func(a, b llm.ToolSpec) int { return strings.Compare(a.Name, b.Name) })
	if d.Instructions != "" {
		head.Messages = []llm.Message{{Role: llm.System, Content: d.Instructions}}
	}
	return head
}

// SummaryPrefix is the head of the request for a summary. It is that of the others, so that a provider
// finds their common beginning in its cache; but no tool is to be called, and no form is asked for.
func (d *Definition) SummaryPrefix() llm.Request {
	head := d.RequestPrefix()
	head.Params.OutputSchema = nil
	if head.Params.ToolChoice = ""; len(head.Tools) > 0 {
		head.Params.ToolChoice = "none"
	}
	return head
}

// Tool returns the tool that the model knows by name.
func (d *Definition) Tool(name string) (Tool, bool) {
	for _, t := range d.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

func (d *Definition) toolNames() []string {
	names := make([]string, len(d.Tools))
	for i, t := range d.Tools {
		names[i] = t.Name
	}
	slices.Sort(names)
	return names
}
