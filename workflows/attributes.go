package workflows

import (
	"cmp"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Attributes returns the search attributes with which the workflow of an agent starts: the name of its definition, the status "running",
// and the cost 0. The attributes that say for whom it waits and why it is held are empty.
func Attributes(in agent.Start) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		protocol.AttributeAgent.ValueSet(in.Agent), protocol.AttributeStatus.ValueSet(string(agent.Running)), protocol.AttributeWaitingFor.ValueSet(""), protocol.AttributeReason.ValueSet(""), protocol.AttributeCost.ValueSet(0))
}

// index updates the search attributes of the agent if its status, or for whom it waits, has changed. It does nothing for an agent
// without search attributes. An agent of an earlier version lacks [protocol.AttributeWaitingFor], which its namespace may not have.
func (d *driver) index() {
	if !d.hasStatus {
		return
	}
	status, waitsFor := string(d.state.CopiedStatus()), ""
	if d.hasWaitingFor {
		waitsFor = string(d.waitsFor())
	}
	if d.indexed == [2]string{status, waitsFor} {
		return
	}
	d.indexed = [2]string{status, waitsFor}
	update := []temporal.SearchAttributeUpdate{
		protocol.AttributeStatus.ValueSet(status), protocol.AttributeReason.ValueSet(d.reason()), protocol.AttributeCost.ValueSet(d.state.Spent().Cost.Dollars()),
	}
	if d.hasWaitingFor {
		update = append(update, protocol.AttributeWaitingFor.ValueSet(waitsFor))
	}
	if err := workflow.UpsertTypedSearchAttributes(d.root, update...); err != nil {
		workflow.GetLogger(d.root).Warn("the search attributes were not changed", "error", err)
	}
}

// waitsFor returns the value of [protocol.AttributeWaitingFor]. While the agent runs, one of its calls may already wait for somebody
// outside.
func (d *driver) waitsFor() agent.WaitsFor {
	status := d.state.CopiedStatus()
	switch {
	case status.Ended():
		return ""
	case status == agent.Waiting, status == agent.Held:
		return d.state.CopiedWaitsFor()
	}
	return d.state.CallWaitsFor()
}

// reason explains the agent's status. It returns the class of the error that held or ended the agent, or the name of the
// limit that stopped the turn. Without such an error or limit, reason returns "".
func (d *driver) reason() string {
	switch s := d.state; {
	case s.Hold != nil:
		return s.Hold.Class
	case s.Outcome != nil:
		return cmp.Or(s.Outcome.Class, s.Outcome.Stopped)
	default:
		return s.Turn.Stopped
	}
}
