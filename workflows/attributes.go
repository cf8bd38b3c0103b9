package workflows

import (
	"cmp"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// Attributes returns the search attributes with which the workflow of an agent starts. It takes the start input of the agent.
func Attributes(in agent.Start) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		protocol.AttributeAgent.ValueSet(in.Agent), protocol.AttributeStatus.ValueSet(string(agent.Running)), protocol.AttributeReason.ValueSet(""), protocol.AttributeCost.ValueSet(0))
}

// attributes returns the search attributes with which a sub-agent starts. `in` is the start input of the sub-agent. If the
// parent agent has no search attributes, attributes returns none, because the namespace may not have registered them.
func (d *driver) attributes(in agent.Start) temporal.SearchAttributes {
	if _, known := workflow.GetTypedSearchAttributes(d.root).GetKeyword(protocol.AttributeStatus); !known {
		return temporal.SearchAttributes{}
	}
	return Attributes(in)
}

// index updates the search attributes of the agent if the agent's status has changed. It does nothing for an agent without
// search attributes.
func (d *driver) index() {
	status := string(d.state.CopiedStatus())
	if status == d.indexed {
		return
	}
	d.indexed = status
	shown, known := workflow.GetTypedSearchAttributes(d.root).GetKeyword(protocol.AttributeStatus)
	if !known || shown == status {
		return
	}
	err := workflow.UpsertTypedSearchAttributes(d.root,
		protocol.AttributeStatus.ValueSet(status), protocol.AttributeReason.ValueSet(d.reason()), protocol.AttributeCost.ValueSet(d.state.Spent().Cost.Dollars()))
	if err != nil {
		workflow.GetLogger(d.root).Warn("the search attributes were not changed", "error", err)
	}
}

// reason explains the agent's status. It returns the class of the error that held or ended the agent, or the name of the
// limit that stopped the turn. Without such an error or limit, reason returns "".
func (d *driver) reason() string {
	switch s := d.state; {
	case s.Held != nil:
		return s.Held.Class
	case s.Outcome != nil:
		return cmp.Or(s.Outcome.Class, s.Outcome.Stopped)
	default:
		return s.Turn.Stopped
	}
}
