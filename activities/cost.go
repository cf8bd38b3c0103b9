package activities

import (
	"errors"
	"slices"

	"github.com/reagent-dev/reagent/agent"
)

// checkCost returns an error if the agent has a cost limit that would stop nothing, because no model of the agent or of an agent below
// it has a price.
func (a *Activities) checkCost(def Agent) error {
	if def.Limits.Cost == 0 || a.priced(def, map[string]bool{}) {
		return nil
	}
	return errors.New("limit Cost is set, but no model of the agent or of its sub-agents has a price, so the limit would never be reached: set Price of the models, or remove the limit")
}

// priced reports whether a model of the agent or of an agent below it has a price. `seen` has the names of the agents that were checked,
// because two agents may be sub-agents of each other.
func (a *Activities) priced(def Agent, seen map[string]bool) bool {
	seen[def.Name] = true
	return slices.ContainsFunc(def.models(), func(name string) bool { return a.models[name].Price != agent.Price{} }) ||
		slices.ContainsFunc(def.Agents, func(sub string) bool { return !seen[sub] && a.priced(a.agents[sub], seen) })
}
