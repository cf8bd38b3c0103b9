package reagent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/telemetry"
)

// The values of search attributes that a census counts.
var (
	countedStatuses = []agent.Status{agent.Running, agent.Waiting, agent.Held}
	countedWaits    = []agent.WaitsFor{
		agent.WaitsForMessage, agent.WaitsForApproval, agent.WaitsForAnswer, agent.WaitsForResult, agent.WaitsForRelease, agent.WaitsForSubAgents,
	}
)

// startCensus lets the metrics have the numbers of the agents in the namespace.
func (p *Plugin) startCensus() {
	stop := telemetry.New(telemetry.Options{Meters: p.options.MeterProvider}).Census(p.census())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopCensus = stop
}

// census returns a function that counts agents by their search attributes. If the namespace does not have these, or the worker may not
// search, there is no census, and the log says so once.
func (p *Plugin) census() func(context.Context) (telemetry.Census, error) {
	var once sync.Once
	return func(ctx context.Context) (telemetry.Census, error) {
		all := telemetry.Census{Status: map[agent.Status]int64{}, Waiting: map[agent.WaitsFor]int64{}}
		var mu sync.Mutex // for `all`
		g, ctx := errgroup.WithContext(ctx)
		for _, status := range countedStatuses {
			g.Go(func() error {
				n, err := p.count(ctx, protocol.AttributeStatus, string(status))
				mu.Lock()
				defer mu.Unlock()
				all.Status[status] = n
				return err
			})
		}
		for _, wait := range countedWaits {
			g.Go(func() error {
				n, err := p.count(ctx, protocol.AttributeWaitingFor, string(wait))
				mu.Lock()
				defer mu.Unlock()
				all.Waiting[wait] = n
				return err
			})
		}
		err := g.Wait()
		if errors.As(err, new(*serviceerror.InvalidArgument)) || errors.As(err, new(*serviceerror.PermissionDenied)) {
			once.Do(func() {
				p.options.Logger.Warn("the metrics have no numbers of agents: register the search attributes of agents, or let the worker count workflows", "error", err)
			})
			return telemetry.Census{}, nil
		}
		if err != nil {
			return telemetry.Census{}, fmt.Errorf("count the agents of the namespace for the metrics: %w", err)
		}
		return all, nil
	}
}

// count counts the agents that have not ended and have the given value of a search attribute.
func (p *Plugin) count(ctx context.Context, attribute temporal.SearchAttributeKeyKeyword, value string) (int64, error) {
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running' AND %s = '%s'", protocol.AgentWorkflow, attribute.GetName(), value)
	found, err := p.temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
	return found.GetCount(), err
}
