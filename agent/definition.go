package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Definition is the configuration of an agent. The agent reads it once when it starts and keeps it in its state. A
// later change of the configuration has no effect until the agent reloads its definition. A definition holds names and
// parameters. The address, API key and timeouts of a model stay with the worker.
type Definition struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`

	Candidates []llm.Candidate `json:"candidates"`
	// Prices are the prices of the candidates, in the same order. They are not part of a request.
	Prices       []Price    `json:"prices,omitempty"`
	Params       llm.Params `json:"params,omitzero"`
	Instructions string     `json:"instructions,omitempty"`
	// Queue is the task queue of the model calls. It is set if the model has a task queue of its own, which limits the
	// rate of the calls. Empty means the agent's own task queue.
	Queue string `json:"queue,omitempty"`

	// Tools are the tools and sub-agents that the model may call, sorted by name.
	Tools  []Tool `json:"tools,omitempty"`
	Limits Limits `json:"limits,omitzero"`
	// SendReasoning makes requests send back the model's reasoning. Some models require this.
	SendReasoning bool `json:"send_reasoning,omitempty"`
	// KeepAgents lets running sub-agents go on when the agent ends with its answer. Without KeepAgents, the sub-agents
	// are cancelled.
	KeepAgents bool `json:"keep_agents,omitempty"`
}

// Tool is a tool or a sub-agent that the model may call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`

	// Ref is the name by which a worker finds the tool. It is empty for a sub-agent.
	Ref string `json:"ref,omitempty"`
	// Effect says whether a call may run again. It is one of the constants of the type tool.Effect; empty means
	// at-most-once.
	Effect string `json:"effect,omitempty"`
	// Queue is the task queue of the one worker that can run the tool; empty means the agent's own task queue.
	Queue string `json:"queue,omitempty"`
	// Approval means that a person must approve each call.
	Approval bool `json:"approval,omitempty"`

	// Agent is the name of the sub-agent's definition. It is empty for a tool.
	Agent string `json:"agent,omitempty"`
	// BudgetMS is the time, in milliseconds, that a call waits for the sub-agent before it is answered as interrupted.
	// 0 means that the call waits as long as events happen in the sub-agent: see [ChildIdleMS].
	BudgetMS int64 `json:"budget_ms,omitempty"`
}

// RequestPrefix returns the part of every request that stays the same from call to call: candidates, parameters, tools
// and the system message. The system message is the instructions, unchanged. If they are empty, there is no system
// message.
func (d *Definition) RequestPrefix() llm.Request {
	head := llm.Request{Candidates: d.Candidates, Params: d.Params}
	for _, t := range d.Tools {
		head.Tools = append(head.Tools, llm.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	// The order of the tools must not depend on their order in the configuration:
	// providers cache prompts by their prefix.
	slices.SortFunc(head.Tools, func(a, b llm.ToolSpec) int { return strings.Compare(a.Name, b.Name) })
	if d.Instructions != "" {
		head.Messages = []llm.Message{{Role: llm.System, Content: d.Instructions}}
	}
	return head
}

// SummaryPrefix returns the request prefix for a summary of the conversation. It is equal to the result of
// RequestPrefix, with two exceptions: the model must not call a tool, and there is no output schema. So a provider
// finds the common beginning in its cache.
func (d *Definition) SummaryPrefix() llm.Request {
	head := d.RequestPrefix()
	head.Params.OutputSchema = nil
	if head.Params.ToolChoice = ""; len(head.Tools) > 0 {
		head.Params.ToolChoice = "none"
	}
	return head
}

// Tool returns the tool with the given name and whether the definition has such a tool.
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
