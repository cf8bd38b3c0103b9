package config

import (
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/condition"
)

func (r *reader) agent(p place) Agent {
	a := Agent{Limits: agent.Limits{}.WithDefaults()}
	p.requires("model")
	r.object(p, keys{
		"description": {"What the agent does, for the models of agents that have it as a sub-agent.", r.text(&a.Description)},
		"model":       {"The name of its model in models.", r.text(&a.Model)},
		"fallback":    {"The names of models that are asked, in this order, where the model cannot answer.", r.texts(&a.Fallback, r.text)},
		"choices": {"What may be chosen for one agent at its start, besides its own models.", func(p place) {
			r.formed(p, "{models: [NAME], reasoning_efforts: [EFFORT]}", keys{
				"models":            {"The names of further models.", r.texts(&a.Choices.Models, r.text)},
				"reasoning_efforts": {"Values of reasoning_effort.", r.texts(&a.Choices.ReasoningEfforts, r.text)},
			})
		}},
		"output_schema":     {"A JSON schema that the answers must fit. Without it, an answer is any text.", r.schema(&a.OutputSchema)},
		"instructions":      {"The system message.", r.text(&a.Instructions)},
		"instructions_file": {"A file with the system message, in place of instructions, relative to this file.", r.instructionsFile(&a)},
		"tools": {"Its tools: the name of a built-in or external tool, or SERVER.TOOL or SERVER.* for tools of an MCP server.",
			r.texts(&a.Tools, r.text)},
		"agents":      {"The names of its sub-agents. The model sees each as a tool.", r.texts(&a.Agents, r.text)},
		"background":  {"Those of agents whose answers come later, as messages.", r.texts(&a.Background, r.text)},
		"keep_agents": {"Whether sub-agents that still work go on when the agent has answered.", r.boolean(&a.KeepAgents)},
		"priority":    {"The priority of its calls: 1 (first) to 5 (last).", r.integer(&a.Priority, 1, 5)},
		"approval": {"Which calls need a person's approval, by tool, SERVER.TOOL, SERVER.*, sub-agent or default.",
			func(p place) { a.Approval = r.approval(p) }},
		"approval_timeout": {"How long a call waits for a person's decision before it is denied; without limit by default.", r.duration(&a.ApprovalTimeout)},
		"guardrails": {"What judges the messages and the answers: SERVER.TOOL for a tool of an MCP server.", func(p place) {
			r.formed(p, "{messages: [SERVER.TOOL], answers: [SERVER.TOOL]}", keys{
				"messages": {"What judges the messages, in this order, before the model gets them.", r.texts(&a.Guardrails.Messages, r.text)},
				"answers":  {"What judges the answers, in this order, before anybody gets them.", r.texts(&a.Guardrails.Answers, r.text)},
			})
		}},
		"limits": {"Limits of the agent.", func(p place) { r.limits(p, &a.Limits) }},
	})
	return a
}

func (r *reader) limits(p place, to *agent.Limits) {
	r.object(p, keys{
		"model_calls":       {"Model calls in a turn.", r.integer(&to.ModelCalls, 1, math.MaxInt32)},
		"tokens":            {"Tokens in the agent's life, with its sub-agents.", r.integer(&to.Tokens, 1, math.MaxInt)},
		"cost":              {"US dollars in the agent's life, with its sub-agents. A model needs a price.", func(p place) { r.costLimit(p, &to.Cost) }},
		"context_tokens":    {"The tokens from which on the conversation is summarised.", r.integer(&to.ContextTokens, 1000, math.MaxInt32)},
		"time":              {"The time of a turn.", r.duration(&to.Time)},
		"depth":             {"Levels of sub-agents below the agent.", r.integer(&to.Depth, 1, 100)},
		"tool_result_bytes": {"The size of a tool result, in bytes, beyond which its middle is left out.", r.integer(&to.ToolResultBytes, 1, agent.MaxToolResultBytes)},
		"calls_per_reply":   {"Tool calls of one reply; further calls get an error result.", r.integer(&to.CallsPerReply, 1, agent.MaxCallsPerReply)},
		"background":        {"Sub-agents in the background at a time.", r.integer(&to.Background, 1, agent.MaxBackground)},
		"message":           {"What the agent says to its user at a limit, up to 4000 bytes; by default it names the limit.", r.text(&to.Message)},
	})
}

// costLimit reads the cost limit of an agent. Zero would mean no limit, and a smaller amount than [agent.MinCost] is shown as zero.
func (r *reader) costLimit(p place, into *agent.Money) {
	r.money(into, 1)(p)
	if p.shape != nil {
		p.shape.Minimum = new(float64(agent.MinCost) / float64(agent.Dollar))
		return
	}
	if *into < agent.MinCost && !r.hasProblem(p.path) {
		r.problemf(p.path, "must be at least 0.0001 US dollars, not %s; remove it for no limit", p.node.Value)
	}
}

// approval reads the field `approval` of an agent. It returns nil if the mapping has no entries. Unlike in other fields, null is
// a problem: without a rule, calls would run without approval.
func (r *reader) approval(p place) map[string]string {
	if p.shape == nil && p.node.Kind == yaml.MappingNode && len(p.node.Content) == 0 {
		return nil
	}
	rules := map[string]string{}
	r.entries(p, func(key string, value place) {
		if value.shape != nil {
			value.shape.Type, value.shape.Pattern = "string", "^(never|always|destructive|if .+)$"
			return
		}
		rules[key] = value.node.Value
		text, conditional := strings.CutPrefix(value.node.Value, "if ")
		switch _, err := condition.Parse(text); {
		case value.node.Kind == yaml.ScalarNode && conditional && err != nil:
			r.problemf(value.path, "%s %v", quoted(value), err)
		case value.node.Kind == yaml.ScalarNode && conditional:
		case value.node.Kind != yaml.ScalarNode || !slices.Contains([]string{"never", "always", "destructive"}, value.node.Value):
			r.problemf(value.path, "is %s; write never, always, destructive, or a condition such as: if args.amount > 50", quoted(value))
		}
	})
	return rules
}
