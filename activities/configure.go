package activities

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/internal/callertoken"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/tool"
)

// The methods in this file take over the configuration of a worker. They return everything that is wrong with it.

// With returns activities with the agents, models, tools, tokens of callers, hooks and callbacks of `o`. They share all else with `a`: the
// calls that are running, the results that are kept, and what is cached. The other options have no effect. With does not change `a`. Its error
// is that of [New].
func (a *Activities) With(o Options) (*Activities, error) {
	changed := *a
	return &changed, changed.configure(o.withDefaults())
}

func (a *Activities) configure(o Options) error {
	a.agents, a.hooks, a.models, a.tools, a.development = map[string]Agent{}, map[string]hook{}, o.Models, o.Tools.Clone(), o.Development
	a.more, a.callers = o.Lookup, nil
	if o.CallerTokens != nil {
		a.callers = callertoken.NewCache(o.CallerTokens)
	}
	for _, own := range []func() (tool.Tool, error){a.resultReader, questions} {
		made, err := own()
		if err == nil {
			err = a.tools.Add(made)
		}
		if err != nil {
			return fmt.Errorf("activities: %w", err)
		}
	}
	a.pace(o.Models)
	var err error
	a.callbacks, err = newCallbacks(o.Callbacks)
	problems := slices.Concat([]error{err}, a.addAgents(o.Agents), a.addHooks(o.Notify), a.checkModels())
	for _, def := range o.Agents {
		for _, problem := range a.problemsOf(def) {
			problems = append(problems, &AgentError{Agent: def.Name, Err: problem})
		}
	}
	return errors.Join(problems...)
}

func (a *Activities) addAgents(agents []Agent) (problems []error) {
	for _, def := range agents {
		if _, twice := a.agents[def.Name]; twice {
			problems = append(problems, fmt.Errorf("agent %s is defined twice: rename or remove one of them", def.Name))
		}
		a.agents[def.Name] = def
	}
	return problems
}

func (a *Activities) addHooks(hooks []Hook) (problems []error) {
	for _, h := range hooks {
		made, err := newHook(h)
		if _, twice := a.hooks[h.Name]; twice && err == nil {
			err = errors.New("is defined twice: rename or remove one of them")
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("hook %s: %w", h.Name, err))
			continue
		}
		a.hooks[h.Name] = made
	}
	return problems
}

func (a *Activities) checkModels() (problems []error) {
	for _, name := range slices.Sorted(maps.Keys(a.models)) {
		if p := a.models[name].Price; min(p.Input, p.Cached, p.CacheWrite, p.Output) < 0 {
			problems = append(problems, fmt.Errorf("model %s: the field Price has a price below zero: %+v; set 0 if the tokens cost nothing", name, p))
		}
	}
	return problems
}

// problemsOf returns what is wrong with an agent. It does not check the agent's tools: see [Activities.Check].
func (a *Activities) problemsOf(def Agent) (problems []error) {
	for _, err := range []error{def.Limits.Check(), a.checkCost(def), protocol.CheckPriority(def.Priority), def.Approval.check()} {
		if err != nil {
			problems = append(problems, err)
		}
	}
	if def.ApprovalTimeout < 0 || def.ApprovalTimeout > 0 && def.ApprovalTimeout < time.Millisecond {
		problems = append(problems, fmt.Errorf("ApprovalTimeout is %v: set at least 1ms, or leave it out for no limit", def.ApprovalTimeout))
	}
	if err := protocol.CheckRetryFor(a.models[def.Model].RetryFor, def.Limits.WithDefaults().Time); err != nil {
		problems = append(problems, fmt.Errorf("RetryFor of the model %q %w", def.Model, err))
	}
	for _, key := range slices.Sorted(maps.Keys(def.Approval)) {
		if def.Approval[key] == ApprovalFunction && def.NeedsApproval == nil {
			problems = append(problems, fmt.Errorf("approval of %q is %q, but NeedsApproval is not set: set it, or choose another rule", key, ApprovalFunction))
		}
	}
	for _, name := range slices.Concat(def.models(), def.Choices.Models) {
		if _, ok := a.models[name]; !ok {
			problems = append(problems, fmt.Errorf("there is no model %q: use only these names in Model, Fallback and Choices: %v", name, slices.Sorted(maps.Keys(a.models))))
		}
	}
	for _, sub := range def.Background {
		if !slices.Contains(def.Agents, sub) {
			problems = append(problems, fmt.Errorf("%q is in Background but not in Agents %v: add it to Agents, too, or remove it from Background", sub, def.Agents))
		}
	}
	for _, sub := range def.Agents {
		if _, ok := a.agents[sub]; !ok {
			problems = append(problems, fmt.Errorf("there is no agent %q: use only these names in Agents: %v", sub, slices.Sorted(maps.Keys(a.agents))))
		}
	}
	return problems
}
