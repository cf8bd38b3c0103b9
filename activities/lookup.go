package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// Lookup returns the agent with the given name, and false if there is none: see [Options].Lookup.
type Lookup func(ctx context.Context, name string) (conf Agent, found bool, err error)

// lookupTimeout is the time that a [Lookup] has.
const lookupTimeout = 30 * time.Second

// agentNamed returns the configuration of an agent that this worker serves, or that it looks up. The errors are application errors:
//   - [protocol.UnknownAgent]: there is no such agent.
//   - [protocol.BadAgent]: the agent that was found is wrong.
//   - [protocol.Unavailable]: the lookup has failed. It is retried as an unknown agent is.
func (a *Activities) agentNamed(ctx context.Context, name string) (Agent, error) {
	if conf, ok := a.agents[name]; ok {
		return conf, nil
	}
	if a.more == nil {
		return Agent{}, a.unknownAgent(ctx, name)
	}
	limited, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	conf, found, err := a.more(limited, name)
	switch {
	case err != nil:
		return Agent{}, temporal.NewApplicationErrorWithOptions(fmt.Sprintf("look up the agent %q: %s", name, a.redact(err.Error())), protocol.Unavailable,
			temporal.ApplicationErrorOptions{NonRetryable: a.rolledOut(ctx), NextRetryDelay: time.Second})
	case !found:
		return Agent{}, a.unknownAgent(ctx, name)
	}
	if conf, err = a.checkFound(name, conf); err != nil {
		return Agent{}, temporal.NewNonRetryableApplicationError(a.redact(err.Error()), protocol.BadAgent, nil)
	}
	return conf, nil
}

// checkFound returns an agent that was looked up with its defaults. The error has an [*AgentError] for each mistake.
func (a *Activities) checkFound(name string, conf Agent) (Agent, error) {
	if conf.Name == "" {
		conf.Name = name
	}
	conf = withDefaultModel(conf, a.models)
	problems := a.problemsOf(conf)
	if conf.Name != name {
		problems = append(problems, fmt.Errorf("Lookup has returned the agent %q; return the agent with the name that was asked for", conf.Name))
	}
	if conf.NeedsApproval != nil {
		problems = append(problems, errors.New("NeedsApproval is only for agents in Options.Agents, because each worker needs the function; use ApprovalIf"))
	}
	for i, problem := range problems {
		problems[i] = &AgentError{Agent: name, Err: problem}
	}
	return conf, errors.Join(slices.Clip(problems)...)
}

// rolledOut reports whether the time is over in which another worker may have what this one lacks.
func (a *Activities) rolledOut(ctx context.Context) bool {
	return time.Since(activity.GetInfo(ctx).ScheduledTime) >= a.rolloutTimeout
}
