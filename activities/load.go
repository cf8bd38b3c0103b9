package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// LoadAgent makes an agent's definition from the configuration and the tools of this worker. If an earlier run of the agent has
// already loaded the definition, LoadAgent returns the definition of that run. The agent keeps its definition until a reload,
// even if the configuration changes.
//
// If this worker does not serve the agent, the error has the type [protocol.UnknownAgent]. If the definition cannot be made,
// the error has the type [protocol.BadAgent].
func (a *Activities) LoadAgent(ctx context.Context, in protocol.LoadAgentInput) (agent.Definition, error) {
	return reading(ctx, a, "read the definition of agent "+in.Agent, in, a.loadAgent)
}

func (a *Activities) loadAgent(ctx context.Context, in protocol.LoadAgentInput) (agent.Definition, error) {
	m, err := a.runs.Recall(ctx, in.Recall)
	if err != nil {
		return agent.Definition{}, err
	}
	var earlier agent.Definition
	if ok, err := a.runs.Decode(m, &earlier); ok || err != nil {
		return earlier, err
	}
	conf, err := a.agentNamed(ctx, in.Agent)
	if err != nil {
		return agent.Definition{}, err
	}
	d, err := a.define(ctx, conf, in.Overrides)
	if err != nil {
		if _, fixed := errors.AsType[*temporal.ApplicationError](err); fixed {
			return d, err
		}
		return d, temporal.NewNonRetryableApplicationError(err.Error(), protocol.BadAgent, nil)
	}
	// The first model call needs the prefix, and Temporal Cloud would bill a query for it.
	head := d.RequestPrefix()
	a.cache.heads.Set(agent.HashPrefix(head), head)
	return d, nil
}

// Check makes the definition of each agent that this worker serves, and returns all errors together. It also looks up the
// agents' tools. Call it when the worker starts, to find mistakes in the configuration.
func (a *Activities) Check(ctx context.Context) error {
	_, err := a.Digests(ctx)
	return err
}

// Digests returns a hash of each definition that this worker serves, by the name of the agent. Two workers have the same hash if their
// definitions are equal. The error is that of [Activities.Check].
func (a *Activities) Digests(ctx context.Context) (map[string]string, error) {
	var problems []error
	digests := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(a.agents)) {
		d, err := a.define(ctx, a.agents[name], agent.Overrides{})
		encoded, unencoded := json.Marshal(d)
		problems = append(problems, err, unencoded)
		sum := sha256.Sum256(encoded)
		digests[name] = hex.EncodeToString(sum[:])
	}
	return digests, errors.Join(problems...)
}
