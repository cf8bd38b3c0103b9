package activities

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reagent-dev/reagent/agent"
)

// override returns the configuration of an agent with the model, the instructions and the limits of the overrides. It returns an error if the
// configuration does not allow them. In development mode, every model of the worker and every effort may be chosen, and the instructions
// may be replaced.
func (a *Activities) override(conf Agent, o agent.Overrides) (Agent, error) {
	if o.Equal(agent.Overrides{}) {
		return conf, nil
	}
	allowed := slices.Concat(conf.models(), conf.Choices.Models)
	if a.development {
		allowed = slices.Sorted(maps.Keys(a.models))
	}
	switch {
	case o.WholeInstructions != "" && !a.development:
		return conf, errors.New("overrides: the instructions may be replaced only by a worker in development mode; start it with `worker --dev`, or add to the instructions")
	case o.Model != "" && !slices.Contains(allowed, o.Model):
		return conf, fmt.Errorf("overrides: the agent may not use the model %q; choose one of %s", o.Model, strings.Join(allowed, ", "))
	case o.ReasoningEffort != "" && !a.development && !slices.Contains(conf.Choices.ReasoningEfforts, o.ReasoningEffort):
		return conf, fmt.Errorf("overrides: the agent does not allow the reasoning effort %q; its choices are: %s", o.ReasoningEffort, strings.Join(conf.Choices.ReasoningEfforts, ", "))
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
		return conf, fmt.Errorf("overrides: %w", err)
	}
	return conf, nil
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
			return nil, fmt.Errorf("overrides: the agent has no tool or sub-agent %q; name only those that it has", name)
		}
	}
	return kept, nil
}
