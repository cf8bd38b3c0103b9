package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/llm"
)

// Definition is the configuration of an agent. The agent reads its definition when it starts, and keeps it in its
// state. A later change of the configuration has no effect until the agent reads its definition again. The address,
// API key and timeouts of a model are not in a definition. They stay with the worker.
type Definition struct {
	// Name is the name by which [Start].Agent and [Tool].Agent refer to the definition.
	Name string `json:"name"`
	// Description says what the agent does.
	Description string `json:"description,omitempty"`

	// Candidates are the models that the agent uses. The first is the preferred one. There is at least one. The parameters of the first
	// are in Params. Another one has its own parameters if they differ.
	Candidates []llm.Candidate `json:"candidates"`
	// Prices are the prices of the candidates, in the same order. No request contains them.
	Prices []Price `json:"prices,omitempty"`
	// Params are the parameters of model calls, such as the temperature.
	Params llm.Params `json:"params,omitzero"`
	// ModelChoices are the names of the models that overrides may choose: see [Overrides].Model. Empty means that they are not known, because
	// a worker of an earlier version has read the definition. A worker checks the choice against its own configuration, and not against this.
	ModelChoices []string `json:"model_choices,omitempty"`
	// Instructions are the text of the system message.
	Instructions string `json:"instructions,omitempty"`
	// TaskQueue is the task queue of the model calls. Empty means the agent's own task queue. It is not
	// empty if the rate of the calls of the preferred model is limited.
	TaskQueue string `json:"task_queue,omitempty"`

	// Tools are the tools and sub-agents that the model may call, sorted by name.
	Tools []Tool `json:"tools,omitempty"`
	// Limits limit what the agent may use.
	Limits Limits `json:"limits,omitzero"`
	// SendReasoning reports whether requests send the model's earlier reasoning back to the model. Some models
	// require this.
	SendReasoning bool `json:"send_reasoning,omitempty"`
	// KeepAgents reports whether running sub-agents go on when the agent ends with its answer. If it is false, the driver cancels them.
	KeepAgents bool `json:"keep_agents,omitempty"`
	// Priority is the Temporal priority of the agent's model calls and tool calls: 1 (highest) to 5 (lowest). If it is 0, the calls have
	// the priority of the agent's workflow. For a sub-agent's workflow, [Tool].Priority in the parent's definition counts.
	Priority int `json:"priority,omitempty"`
	// Guardrails judge what enters the agent and what leaves it.
	Guardrails Guardrails `json:"guardrails,omitzero"`
	// Notify lists the hooks that get notifications of the agent, sorted by name: see [Notification].
	Notify []Hook `json:"notify,omitempty"`
}

// EffectExternal is the effect of a tool whose results come from outside, by a [Decision] with a result. No worker runs its calls.
const EffectExternal = "external"

// Tool is a tool or a sub-agent that the model may call.
type Tool struct {
	// Name is the name by which the model calls the tool or the sub-agent.
	Name string `json:"name"`
	// Description tells the model what the tool or the sub-agent does.
	Description string `json:"description,omitempty"`
	// Schema is the JSON schema of the arguments.
	Schema json.RawMessage `json:"schema,omitempty"`

	// Ref is the name by which a worker finds the tool. Ref is empty for a sub-agent.
	Ref string `json:"ref,omitempty"`
	// Effect says whether a call may run again. It is one of the constants of the type `tool.Effect`. Empty means
	// "at-most-once". A call with the effect [EffectExternal] does not run at all.
	Effect string `json:"effect,omitempty"`
	// ResultMS is how long, in milliseconds, an external call waits for its result. 0 means no limit.
	ResultMS int64 `json:"result_ms,omitempty"`
	// TaskQueue is the task queue of the only worker that can run the tool. Empty means the agent's own task queue.
	TaskQueue string `json:"task_queue,omitempty"`
	// Approval reports whether a person must approve each call.
	Approval bool `json:"approval,omitempty"`
	// ApprovalRule decides by the arguments whether a person must approve a call. Empty means that there is no such rule. The worker that
	// gets the reply of the model evaluates it: see [FreeCall].
	ApprovalRule string `json:"approval_rule,omitempty"`
	// ApprovalMS is how long, in milliseconds, a call waits for a decision. After this time, the call is denied. 0 means no limit.
	ApprovalMS int64 `json:"approval_ms,omitempty"`

	// Agent is the name of the sub-agent's definition. Agent is empty for a tool.
	Agent string `json:"agent,omitempty"`
	// Background reports whether the sub-agent works in the background: a call returns at once, and the answer of the sub-agent comes
	// later, as a message: see [LateResult].
	Background bool `json:"background,omitempty"`
	// BudgetMS is how long, in milliseconds, a call waits for the sub-agent. After this time, the call is left
	// unanswered: see [ResultKind.StandsIn]. 0 means that the call waits as long as events happen in the sub-agent: see
	// [ChildIdleMS].
	BudgetMS int64 `json:"budget_ms,omitempty"`
	// Priority is the Temporal priority of the sub-agent: 1 (highest) to 5 (lowest). 0 means 4, the default of
	// sub-agents.
	Priority int `json:"priority,omitempty"`
}

// asks reports whether a person must approve the call with the given position in a reply. `free` are the calls of the reply that need no
// approval.
func (t Tool) asks(position int, free []FreeCall) bool {
	return t.Approval || t.ApprovalRule != "" && !slices.Contains(free, FreeCall{position, t.ApprovalRule})
}

// ApprovalRules returns [Tool].ApprovalRule of each tool that has one, by the name of the tool; nil if none has.
func (d *Definition) ApprovalRules() map[string]string {
	var rules map[string]string
	for _, t := range d.Tools {
		if t.ApprovalRule == "" {
			continue
		}
		if rules == nil {
			rules = map[string]string{}
		}
		rules[t.Name] = t.ApprovalRule
	}
	return rules
}

// RequestPrefix returns the part that all requests of the agent have in common: candidates, parameters, tools and the
// system message. The system message is the agent's instructions, unchanged. Without instructions, there is no system
// message.
func (d *Definition) RequestPrefix() llm.Request {
	head := llm.Request{Candidates: d.Candidates, Params: d.Params}
	for _, t := range d.Tools {
		head.Tools = append(head.Tools, llm.ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	// Providers cache prompts by their prefix, so the order of the tools must not depend on their order in the configuration.
	slices.SortFunc(head.Tools, func(a, b llm.ToolSpec) int { return strings.Compare(a.Name, b.Name) })
	if d.Instructions != "" {
		head.Messages = []llm.Message{{Role: llm.System, Content: d.Instructions}}
	}
	return head
}

// SummaryPrefix returns the part that all requests for a summary have in common. It differs from the result of
// [Definition.RequestPrefix] in two points: the model must not call a tool, and there is no output schema. Everything
// else is equal. Therefore a provider finds the common beginning in its cache.
func (d *Definition) SummaryPrefix() llm.Request {
	head := d.RequestPrefix()
	head.Params.OutputSchema = nil
	forbidCalls := func(p *llm.Params) {
		if p.ToolChoice = ""; len(head.Tools) > 0 {
			p.ToolChoice = "none"
		}
	}
	forbidCalls(&head.Params)
	head.Candidates = slices.Clone(head.Candidates)
	for i, c := range head.Candidates {
		if c.Params != nil {
			own := *c.Params
			forbidCalls(&own)
			head.Candidates[i].Params = &own
		}
	}
	return head
}

// Tool returns the tool with the given name. The second result reports whether the definition has such a tool.
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
