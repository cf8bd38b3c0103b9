package workflows

import (
	"cmp"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/protocol"
)

// Attributes returns the search attributes with which an agent starts.
func Attributes(in agent.Start) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		protocol.AttributeAgent.ValueSet(in.Agent), protocol.AttributeStatus.ValueSet(string(agent.Running)), protocol.AttributeReason.ValueSet(""), protocol.AttributeCost.ValueSet(0))
}

// attributes returns the search attributes with which a sub-agent starts. It returns none if this agent itself has none, because
// the namespace may then not have registered them.
func (d *driver) attributes(in agent.Start) temporal.SearchAttributes {
	if _, known := workflow.GetTypedSearchAttributes(d.root).GetKeyword(protocol.AttributeStatus); !known {
		return temporal.SearchAttributes{}
	}
	return Attributes(in)
}

// index updates the agent's search attributes if its status has changed. It does nothing if the agent has no search attributes.
func (d *driver) index() {
	shown, known := workflow.GetTypedSearchAttributes(d.root).GetKeyword(protocol.AttributeStatus)
	status := string(d.state.CopiedStatus())
	if !known || shown == status {
		return
	}
	err := workflow.UpsertTypedSearchAttributes(d.root,
		protocol.AttributeStatus.ValueSet(status), protocol.AttributeReason.ValueSet(d.reason()), protocol.AttributeCost.ValueSet(d.state.Spent().Cost.Dollars()))
	if err != nil {
		workflow.GetLogger(d.root).Warn("the search attributes were not changed", "error", err)
	}
}

// reason returns the class of the error or the name of the limit that explains the agent's status. It returns "" if there is no
// such error or limit.
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
