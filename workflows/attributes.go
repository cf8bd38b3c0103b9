package workflows

import (
	"cmp"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Attributes returns the search attributes with which the workflow of an agent starts: the name of its definition, the status "running",
// and the cost 0. The attributes that say for whom it waits and why it is held are empty. The names in [agent.Start].Searchable are
// further attributes.
func Attributes(in agent.Start) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(append(searchable(in),
		protocol.AttributeAgent.ValueSet(in.Agent), protocol.AttributeStatus.ValueSet(string(agent.Running)), protocol.AttributeWaitingFor.ValueSet(""), protocol.AttributeReason.ValueSet(""), protocol.AttributeCost.ValueSet(0))...)
}

// Searchable returns the search attributes that the program that starts an agent has named: see [agent.Start].Searchable.
func Searchable(in agent.Start) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(searchable(in)...)
}

func searchable(in agent.Start) []temporal.SearchAttributeUpdate {
	var set []temporal.SearchAttributeUpdate
	for _, name := range in.Searchable {
		set = append(set, temporal.NewSearchAttributeKeyKeyword(name).ValueSet(in.Metadata[name]))
	}
	return set
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
		d.log().Warn("the search attributes were not changed", "error", err)
	}
}

// searchable returns the names in the field Searchable of the start that are search attributes of this agent. A namespace that has not
// registered them would refuse to start a sub-agent with them.
func (d *driver) searchable(ctx workflow.Context) []string {
	attributes := workflow.GetTypedSearchAttributes(ctx)
	return slices.DeleteFunc(slices.Clone(d.start.Searchable), func(name string) bool {
		return !attributes.ContainsKey(temporal.NewSearchAttributeKeyKeyword(name))
	})
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
