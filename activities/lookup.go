package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// Lookup returns the agent with the given name, and false if there is none: see [Options].Lookup.
type Lookup func(ctx context.Context, name string) (conf Agent, found bool, err error)

// ErrNoAgent is the error of a [Lookup] for a name that no worker has, also if its Options.Agents are others: see [Options].Lookup.
var ErrNoAgent = errors.New("there is no such agent")

const (
	// lookupTimeout is the time that a [Lookup] has.
	lookupTimeout = 30 * time.Second
	// lookupPatience is how long a [Lookup] that returns errors is called again. It is not [Options].RolloutTimeout, because it is about
	// what Lookup needs, such as a database, and not about other workers.
	lookupPatience = 5 * time.Minute
)

// agentNamed returns the configuration of an agent that this worker serves, or that it looks up. The errors are application errors:
//   - [protocol.UnknownAgent]: there is no such agent.
//   - [protocol.BadAgent]: the agent that was found is wrong.
//   - [protocol.Unavailable]: the lookup has failed. It is retried for [lookupPatience].
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
	case errors.Is(err, ErrNoAgent):
		return Agent{}, temporal.NewNonRetryableApplicationError(a.unknownText(name), protocol.UnknownAgent, nil)
	case err != nil:
		return Agent{}, temporal.NewApplicationErrorWithOptions(fmt.Sprintf("look up the agent %q: %s", name, a.redact(err.Error())), protocol.Unavailable,
			temporal.ApplicationErrorOptions{NonRetryable: scheduledFor(ctx) >= lookupPatience, NextRetryDelay: time.Second})
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

// unknownAgent returns the error for an agent that this worker does not serve. While a new configuration is rolled out worker by worker,
// another worker may serve the agent. Therefore the error is retryable until `Options.RolloutTimeout` has passed since the activity was
// scheduled. A worker whose agents are all looked up does not wait: a new build has no other agents.
func (a *Activities) unknownAgent(ctx context.Context, name string) error {
	looksUpAll := a.more != nil && len(a.agents) == 0
	return temporal.NewApplicationErrorWithOptions(a.unknownText(name), protocol.UnknownAgent, temporal.ApplicationErrorOptions{
		NonRetryable:   looksUpAll || scheduledFor(ctx) >= a.rolloutTimeout,
		NextRetryDelay: time.Second,
	})
}

// unknownText says that this worker does not serve an agent, and where the agent belongs.
func (a *Activities) unknownText(name string) string {
	serves := strings.Join(slices.Sorted(maps.Keys(a.agents)), ", ")
	switch {
	case a.more == nil:
		return fmt.Sprintf("there is no agent %q on this worker, which serves %s; correct the name, or add the agent to the configuration of the workers", name, serves)
	case serves == "":
		return fmt.Sprintf("there is no agent %q: Lookup of the worker does not find it; correct the name, or let Lookup return the agent", name)
	}
	return fmt.Sprintf("there is no agent %q on this worker, which serves %s, and Lookup does not find it; correct the name, let Lookup return the agent, or add it to Options.Agents of the workers", name, serves)
}

// scheduledFor returns the time since the activity was scheduled.
func scheduledFor(ctx context.Context) time.Duration {
	return time.Since(activity.GetInfo(ctx).ScheduledTime)
}
