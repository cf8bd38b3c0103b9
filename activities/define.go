package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/canon"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
)

// maxDefinitionBytes limits the size of an agent's definition, in bytes. The definition is an activity result, and Temporal
// rejects payloads of more than 2 MB.
const maxDefinitionBytes = 1_500_000

// AgentError says what is wrong with an agent that a worker cannot define.
type AgentError struct {
	// Agent is the name of the agent.
	Agent string
	// Field is the part of the agent that is wrong, as agents.yaml names it, such as `tools[2]` or `approval.files.read`. Empty means the agent
	// as a whole.
	Field string
	// Err is the mistake.
	Err error
}

// Error names the agent and the field.
func (e *AgentError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("agent %s: %v", e.Agent, e.Err)
	}
	return fmt.Sprintf("agents.%s.%s: %v", e.Agent, e.Field, e.Err)
}

// Unwrap returns [AgentError.Err].
func (e *AgentError) Unwrap() error { return e.Err }

// define makes the definition of an agent with the given configuration. The error has an [*AgentError] for each of these mistakes:
//   - The output schema is not valid, or the schema of a tool cannot be hashed.
//   - A model or a tool cannot be found, or its source cannot be asked.
//   - A guardrail cannot be found, is named twice, is a tool of a stateful MCP server, is one of the tools, too, or refuses what a
//     guardrail gets.
//   - Two tools or sub-agents have names that look alike.
//   - A key of the approval policy matches nothing.
//   - The definition is too large.
//   - The agent does not allow the overrides.
func (a *Activities) define(ctx context.Context, conf Agent, o agent.Overrides) (agent.Definition, error) {
	name, choices := conf.Name, a.modelChoices(conf)
	conf, err := a.override(conf, o)
	if err != nil {
		return agent.Definition{}, &AgentError{Agent: name, Err: err}
	}
	d := agent.Definition{
		Name: name, Description: conf.Description, Params: a.models[conf.Model].Params, TaskQueue: a.models[conf.Model].TaskQueue,
		Instructions: strings.ToValidUTF8(conf.Instructions, "\uFFFD"),
		Limits:       conf.Limits.WithDefaults(), KeepAgents: conf.KeepAgents, Priority: conf.Priority,
		ModelChoices: choices,
	}
	var problems []error
	report := func(field string, err error) {
		if err != nil {
			problems = append(problems, &AgentError{Agent: name, Field: field, Err: err})
		}
	}
	a.addGuardrails(ctx, &d, conf.Guardrails, report)
	report("output_schema", tool.CheckSchema(conf.OutputSchema))
	report("", a.addModels(&d, conf.models()))
	d.Params.OutputSchema = conf.OutputSchema
	d.Params.ReasoningEffort = cmp.Or(o.ReasoningEffort, d.Params.ReasoningEffort)
	bound, listed := a.resolve(ctx, conf.Tools, report)
	bound = withoutGuardrails(bound, conf, report)
	d.Tools = a.boundTools(bound, conf.Approval)
	a.addSubAgents(&d, conf, report)
	if listed { // nobody knows the names of the tools of a server that does not answer
		conf.Approval.checkKeys(approvalKeys(conf, bound), report)
		d.Tools, err = narrow(d.Tools, o.Tools)
		report("", inOverrides(err))
	}
	for i := range d.Tools {
		if d.Tools[i].Approval || d.Tools[i].ApprovalRule != "" {
			d.Tools[i].ApprovalMS = conf.ApprovalTimeout.Milliseconds()
		}
	}
	for _, hook := range slices.Sorted(maps.Keys(a.hooks)) {
		d.Notify = append(d.Notify, agent.Hook{Name: hook, On: a.hooks[hook].On})
	}
	slices.SortFunc(d.Tools, func(x, y agent.Tool) int { return strings.Compare(x.Name, y.Name) })
	report("", checkStored(d))
	return d, errors.Join(problems...)
}

// resolve returns the tools that match the patterns, and reports each pattern that cannot be resolved. `listed` says that every source that a
// pattern names has listed its tools.
func (a *Activities) resolve(ctx context.Context, patterns []string, report func(field string, err error)) (bound []tool.Bound, listed bool) {
	bound, all := a.tools.Resolve(ctx, patterns)
	if all == nil {
		return bound, true
	}
	each := true
	listed = true
	for i, pattern := range patterns {
		some, err := a.tools.Resolve(ctx, []string{pattern})
		bound = append(bound, some...)
		each = each && err == nil
		listed = listed && (err == nil || errors.As(err, new(*tool.UnknownToolError)))
		report(fmt.Sprintf("tools[%d]", i), err)
	}
	if each { // the tools are fine one by one, but two of them have the same name
		report("tools", all)
	}
	return bound, listed
}

// addModels adds the models with the given names. If no model has a price, the definition has no prices.
func (a *Activities) addModels(d *agent.Definition, names []string) error {
	priced := false
	for _, name := range names {
		model, ok := a.models[name]
		if !ok {
			return fmt.Errorf("there is no model %q: set Model and Fallback to names in Options.Models", name)
		}
		candidate := llm.Candidate{Name: name, Model: model.Model}
		if own := model.Params; !reflect.DeepEqual(own, d.Params) {
			candidate.Params = &own // a fallback with the parameters of the first model needs no copy of them
		}
		d.Candidates = append(d.Candidates, candidate)
		d.Prices = append(d.Prices, model.Price)
		priced = priced || model.Price != agent.Price{}
		d.SendReasoning = d.SendReasoning || model.SendReasoning
	}
	if !priced {
		d.Prices = nil
	}
	return nil
}

func (a *Activities) boundTools(bound []tool.Bound, policy ApprovalPolicy) []agent.Tool {
	var tools []agent.Tool
	for _, b := range bound {
		spec := b.Tool.Spec()
		needs, rule := policy.needs(spec.Destructive(), spec.NeedsApproval, toolKeys(b.Ref)...)
		tools = append(tools, agent.Tool{
			Name: spec.Name, Description: strings.ToValidUTF8(a.redact(spec.Description), "\uFFFD"), Schema: []byte(a.redact(string(spec.Schema))),
			Ref: b.Ref, Effect: string(spec.Effect), TaskQueue: spec.TaskQueue,
			Approval: needs, ApprovalRule: rule, ResultMS: spec.ResultTimeout.Milliseconds(),
		})
	}
	return tools
}

// addSubAgents adds a tool for each sub-agent, and the tool [agent.Agents] if some of them work in the background. d must have all
// other tools already, because their names must not look like those of the sub-agents. It reports the sub-agents whose names do.
func (a *Activities) addSubAgents(d *agent.Definition, conf Agent, report func(field string, err error)) {
	for i, sub := range conf.Agents {
		field := fmt.Sprintf("agents[%d]", i)
		switch other, taken := lookAlike(d.Tools, sub); {
		case !taken || other.Ref == "":
			d.Tools = append(d.Tools, a.subAgent(sub, conf))
		case other.Name != sub:
			report(field, fmt.Errorf("the name of the sub-agent %s looks like that of the tool %s; rename one of them", sub, other.Ref))
		default:
			report(field, fmt.Errorf("the sub-agent %s has the name of a tool; rename one of them", sub))
		}
	}
	if len(conf.Background) == 0 {
		return
	}
	if other, taken := lookAlike(d.Tools, agent.Agents); taken {
		report("", fmt.Errorf("the tool or sub-agent %q has the name, or almost the name, of the tool %q, which an agent with sub-agents in the background has; rename the tool or sub-agent", other.Name, agent.Agents))
		return
	}
	d.Tools = append(d.Tools, agent.Tool{
		Name: agent.Agents, Ref: agent.Agents, Schema: []byte(agent.AgentsSchema), Effect: string(tool.Idempotent),
		Description: "Lists the agents that work for you in the background, stops one of them, or sends it a message.",
	})
}

// subAgent returns the tool with which an agent calls the sub-agent with the given name.
func (a *Activities) subAgent(name string, parent Agent) agent.Tool {
	sub := a.agents[name]
	needs, rule := parent.Approval.needs(true, false, name)
	t := agent.Tool{
		Name: name, Description: sub.Description, Schema: []byte(agent.ChildSchema), Agent: name,
		Approval: needs, ApprovalRule: rule,
		BudgetMS: childBudget(sub.Limits.WithDefaults().Time).Milliseconds(), Priority: sub.Priority,
	}
	if slices.Contains(parent.Background, name) {
		t.Background, t.Schema = true, []byte(agent.BackgroundSchema)
	}
	return t
}

// childBudget returns how long an agent waits for a sub-agent that it has called. `turn` is the sub-agent's own time limit for
// a turn. The result is this limit plus a margin: a tenth of the limit, but at least 30 seconds. So a sub-agent that stops at
// its own limit can still answer in time.
func childBudget(turn time.Duration) time.Duration { return turn + max(turn/10, 30*time.Second) }

func lookAlike(tools []agent.Tool, name string) (agent.Tool, bool) {
	i := slices.IndexFunc(tools, func(t agent.Tool) bool { return tool.LookAlike(t.Name, name) })
	if i < 0 {
		return agent.Tool{}, false
	}
	return tools[i], true
}

// approvalKeys returns the keys that an approval policy may have: the names of the tools and sub-agents, and the patterns of the agent, such
// as "files.*". A pattern of a server without tools counts, too.
func approvalKeys(conf Agent, bound []tool.Bound) []string {
	keys := slices.Concat(conf.Tools, conf.Agents)
	for _, b := range bound {
		keys = append(keys, toolKeys(b.Ref)...)
	}
	return keys
}

// checkStored returns an error if a definition cannot be hashed or stored.
func checkStored(d agent.Definition) error {
	for _, t := range d.Tools {
		if len(t.Schema) == 0 {
			continue
		}
		if _, err := canon.Text(t.Schema); err != nil {
			return fmt.Errorf("the schema of the tool %s cannot be stored: %w; correct the schema", t.Name, err)
		}
	}
	if size := payload.Size(d); size > maxDefinitionBytes {
		return fmt.Errorf("instructions and tool schemas have %d bytes; the limit is %d: give the agent fewer tools or shorter instructions", size, maxDefinitionBytes)
	}
	return nil
}
