package workflows

import (
	"cmp"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
)

// These are the search attributes of an agent. The Web UI and `temporal workflow list` find agents by them. The start of an
// agent sets all four. An agent has none of them if the namespace lacked one of the four when the agent was started. Each
// change of the status is one upsert. Temporal Cloud bills an upsert as one action.
var (
	// AttributeAgent is the definition's name.
	AttributeAgent = temporal.NewSearchAttributeKeyKeyword("ReagentAgent")
	// AttributeStatus is the agent's [agent.Status], as the method [agent.State.CopiedStatus] returns it. After a reset, an
	// agent may search other runs for messages. During this search, the attribute shows the status as if the search had
	// already ended without finding a message.
	AttributeStatus = temporal.NewSearchAttributeKeyKeyword("ReagentStatus")
	// AttributeReason is the class of the error that holds or ended the agent, or the name of the limit that stopped its last
	// turn. It is empty if there is no such error or limit.
	AttributeReason = temporal.NewSearchAttributeKeyKeyword("ReagentReason")
	// AttributeCost is the cost of the agent and its sub-agents in US dollars, at the last change of the status. It is 0 if the models
	// have no price.
	AttributeCost = temporal.NewSearchAttributeKeyFloat64("ReagentCost")
)

// AttributeTypes returns the type of each search attribute, such as "Keyword", by the attribute's name. A namespace has to register
// the attributes with these names and types.
func AttributeTypes() map[string]string {
	types := map[string]string{}
	for _, key := range []temporal.SearchAttributeKey{AttributeAgent, AttributeStatus, AttributeReason, AttributeCost} {
		types[key.GetName()] = key.GetValueType().String()
	}
	return types
}

// Attributes returns the search attributes with which an agent starts.
func Attributes(in Start) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		AttributeAgent.ValueSet(in.Agent), AttributeStatus.ValueSet(string(agent.Running)), AttributeReason.ValueSet(""), AttributeCost.ValueSet(0))
}

// attributes returns the search attributes with which a sub-agent starts. It returns none if this agent itself has none, because
// the namespace may then not have registered them.
func (d *driver) attributes(in Start) temporal.SearchAttributes {
	if _, known := workflow.GetTypedSearchAttributes(d.root).GetKeyword(AttributeStatus); !known {
		return temporal.SearchAttributes{}
	}
	return Attributes(in)
}

// index updates the agent's search attributes if its status has changed. It does nothing if the agent has no search attributes.
func (d *driver) index() {
	shown, known := workflow.GetTypedSearchAttributes(d.root).GetKeyword(AttributeStatus)
	status := string(d.state.CopiedStatus())
	if !known || shown == status {
		return
	}
	err := workflow.UpsertTypedSearchAttributes(d.root,
		AttributeStatus.ValueSet(status), AttributeReason.ValueSet(d.reason()), AttributeCost.ValueSet(d.state.Spent().Cost.Dollars()))
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
