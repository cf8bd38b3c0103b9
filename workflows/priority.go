package workflows

import (
	"cmp"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// priority returns the Temporal priority of the agent's model calls, tool calls and notifications. A field that is zero has the value
// of the agent's workflow. All are zero while the agent has no definition, and for a sub-agent, because its parent has given the priority
// to the workflow.
func (d *driver) priority() temporal.Priority {
	if def := d.state.Definition; def != nil && d.start.Parent == "" {
		return temporal.Priority{PriorityKey: def.Priority}
	}
	return temporal.Priority{}
}

// childPriority returns the Temporal priority of a sub-agent. It leaves out the tenant (the fairness key), because Temporal copies
// it from the agent's workflow.
func (d *driver) childPriority(ctx workflow.Context, child agent.Child) temporal.Priority {
	own := cmp.Or(d.priority().PriorityKey, workflow.GetInfo(ctx).Priority.PriorityKey)
	t, _ := d.state.Definition.Tool(child.Agent)
	return temporal.Priority{PriorityKey: protocol.PriorityOfChild(own, t.Priority)}
}
