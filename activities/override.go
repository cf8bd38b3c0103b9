package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/tool"
)

// ResolveOverrides checks whether the configuration allows the overrides of a message, and returns what they make of the agent's definition.
// If an earlier run of the agent has already resolved them, it returns the result of that run.
//
// If the configuration does not allow them, the error has the type [protocol.BadOverrides]. If this worker does not serve the agent, it is
// that of [Activities.LoadAgent].
func (a *Activities) ResolveOverrides(ctx context.Context, in protocol.ResolveOverridesInput) (agent.TurnDefinition, error) {
	return reading(ctx, a, "resolve the overrides of a message", in, a.resolveOverrides)
}

func (a *Activities) resolveOverrides(ctx context.Context, in protocol.ResolveOverridesInput) (agent.TurnDefinition, error) {
	m, err := a.runs.Recall(ctx, in.Recall)
	if err != nil {
		return agent.TurnDefinition{}, err
	}
	var earlier agent.TurnDefinition
	if ok, err := a.runs.Decode(m, &earlier); ok || err != nil {
		return earlier, err
	}
	conf, err := a.agentNamed(ctx, in.Agent)
	if err != nil {
		return agent.TurnDefinition{}, err
	}
	d, err := a.overrideTurn(conf, in)
	if err != nil {
		return d, temporal.NewNonRetryableApplicationError(err.Error(), protocol.BadOverrides, nil)
	}
	return d, nil
}

// overrideTurn returns what the overrides of a message make of the definition of an agent with the given configuration. It returns an error
// if the configuration does not allow them.
func (a *Activities) overrideTurn(conf Agent, in protocol.ResolveOverridesInput) (d agent.TurnDefinition, err error) {
	o := in.Overrides
	if err := a.allow(conf, o); err != nil {
		return d, err
	}
	if o.Model != "" {
		models := slices.DeleteFunc(slices.Clone(in.Models[min(1, len(in.Models)):]), func(name string) bool {
			_, known := a.models[name]
			return name == o.Model || !known
		})
		conf.Model, conf.Fallback = o.Model, models
		main := a.models[o.Model]
		whole := agent.Definition{Params: main.Params}
		if err := a.addModels(&whole, conf.models()); err != nil {
			return d, err
		}
		whole.Params.ReasoningEffort = cmp.Or(in.ReasoningEffort, whole.Params.ReasoningEffort)
		d = agent.TurnDefinition{
			Candidates: whole.Candidates, Prices: whole.Prices, Params: &whole.Params, TaskQueue: main.TaskQueue, SendReasoning: whole.SendReasoning,
		}
	}
	conf.Limits = conf.Limits.WithDefaults().Lowered(o.Limits)
	if err := a.checkCost(conf); err != nil {
		return d, err
	}
	kept, err := narrow(in.Tools, o.Tools)
	if err != nil {
		return d, err
	}
	for _, t := range o.ClientTools {
		if slices.ContainsFunc(in.Tools, func(own agent.Tool) bool { return own.Name == t.Name }) {
			return d, fmt.Errorf("the agent has a tool %q itself; give the client tool another name", t.Name)
		}
		if err := tool.CheckSchema(t.Schema); err != nil {
			return d, fmt.Errorf("the schema of the client tool %q: %w", t.Name, err)
		}
	}
	if err := tool.CheckSchema(o.OutputSchema); err != nil {
		return d, fmt.Errorf("the output schema: %w", err)
	}
	for _, t := range kept {
		d.Tools = append(d.Tools, t.Name)
	}
	return d, nil
}

// override returns the configuration of an agent with the model, the instructions and the limits of the overrides. It returns an error if the
// configuration does not allow them. In development mode, every model of the worker and every effort may be chosen, and the instructions
// may be replaced.
func (a *Activities) override(conf Agent, o agent.Overrides) (Agent, error) {
	if o.Equal(agent.Overrides{}) {
		return conf, nil
	}
	if err := a.allow(conf, o); err != nil {
		return conf, inOverrides(err)
	}
	if o.Model != "" {
		conf.Fallback = slices.DeleteFunc(slices.Clone(conf.Fallback), func(name string) bool { return name == o.Model })
		conf.Model = o.Model
	}
	conf.Instructions = cmp.Or(o.WholeInstructions, conf.Instructions)
	if o.Instructions != "" {
		conf.Instructions = strings.TrimPrefix(conf.Instructions+"\n\n"+o.Instructions, "\n\n")
	}
	conf.Limits = conf.Limits.WithDefaults().Lowered(o.Limits)
	if err := a.checkCost(conf); err != nil {
		return conf, inOverrides(err)
	}
	return conf, nil
}

// inOverrides says that an error of a definition is one of the overrides with which an agent is started. The reply to a message with
// overrides says so itself.
func inOverrides(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("overrides: %w", err)
}

// allow returns an error if the configuration of an agent does not allow the overrides. It does not check the tools.
func (a *Activities) allow(conf Agent, o agent.Overrides) error {
	allowed := a.modelChoices(conf)
	switch {
	case o.WholeInstructions != "" && !a.development:
		return errors.New("the instructions may be replaced only by a worker in development mode; start it with `worker --dev`, or add to the instructions")
	case o.Model != "" && !slices.Contains(allowed, o.Model):
		return fmt.Errorf("the agent may not use the model %q; choose one of %s", o.Model, strings.Join(allowed, ", "))
	case o.ReasoningEffort != "" && !a.development && !slices.Contains(conf.Choices.ReasoningEfforts, o.ReasoningEffort):
		return fmt.Errorf("the agent does not allow the reasoning effort %q; its choices are: %s", o.ReasoningEffort, strings.Join(conf.Choices.ReasoningEfforts, ", "))
	}
	return nil
}

// modelChoices returns the names of the models that overrides may choose, each once.
func (a *Activities) modelChoices(conf Agent) []string {
	if a.development {
		return slices.Sorted(maps.Keys(a.models))
	}
	var names []string
	for _, name := range slices.Concat(conf.models(), conf.Choices.Models) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// narrow returns those tools and sub-agents that the overrides name. No names mean all. The tool with which an agent manages its sub-agents
// in the background stays with them. It returns an error if a name matches nothing.
func narrow(tools []agent.Tool, names []string) ([]agent.Tool, error) {
	if len(names) == 0 {
		return tools, nil
	}
	used, background := map[string]bool{}, false
	var kept []agent.Tool
	for _, t := range tools {
		var keys []string
		switch {
		case t.Agent != "":
			keys = []string{t.Agent}
		case t.Ref != agent.Agents:
			keys = toolKeys(t.Ref)
		}
		named := slices.DeleteFunc(keys, func(key string) bool { return !slices.Contains(names, key) })
		for _, key := range named {
			used[key] = true
		}
		if len(named) > 0 || t.Ref == agent.Agents && background {
			kept = append(kept, t)
			background = background || t.Background
		}
	}
	for _, name := range names {
		if !used[name] {
			return nil, fmt.Errorf("the agent has no tool or sub-agent %q; name only those that it has", name)
		}
	}
	return kept, nil
}
