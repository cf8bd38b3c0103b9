package workflows

import (
	"cmp"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// priority returns the Temporal priority of the agent's model calls and tool calls. A field that is zero has the value of the
// agent's workflow. The priority in the definition of a sub-agent does not count here: its parent has set it for the workflow.
func (d *driver) priority() temporal.Priority {
	if def := d.state.Definition; def != nil && d.start.Parent == "" {
		return temporal.Priority{PriorityKey: def.Priority}
	}
	return temporal.Priority{}
}

// childPriority returns the Temporal priority of a sub-agent with the given name. The tenant is absent, because Temporal copies
// it from the agent's workflow.
func (d *driver) childPriority(ctx workflow.Context, child agent.Child) temporal.Priority {
	own := cmp.Or(d.priority().PriorityKey, workflow.GetInfo(ctx).Priority.PriorityKey)
	t, _ := d.state.Definition.Tool(child.Agent)
	return temporal.Priority{PriorityKey: protocol.PriorityOfChild(own, t.Priority)}
}
