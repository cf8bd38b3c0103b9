package protocol

import "go.temporal.io/sdk/temporal"

// These are the search attributes of an agent. The Web UI and `temporal workflow list` find agents by them. Package client
// starts an agent with all four of them. It starts the agent with none of them if the namespace has not registered all four.
// When the agent's status changes, one upsert updates the attributes. Temporal Cloud bills an upsert as one action.
var (
	// AttributeAgent is the definition's name.
	AttributeAgent = temporal.NewSearchAttributeKeyKeyword("ReagentAgent")
	// AttributeStatus is the agent's [agent.Status], as the method [agent.State.CopiedStatus] returns it. The two may differ
	// only while the agent searches other runs for messages, after a reset.
	AttributeStatus = temporal.NewSearchAttributeKeyKeyword("ReagentStatus")
	// AttributeReason explains the status. It is the class of the error because of which the agent is held or has failed, or
	// the name of the limit that stopped its last turn. It is empty if there is no such error or limit.
	AttributeReason = temporal.NewSearchAttributeKeyKeyword("ReagentReason")
	// AttributeCost is the cost of the agent and its sub-agents in US dollars, at the last change of the status. It is 0 if
	// the models have no price.
	AttributeCost = temporal.NewSearchAttributeKeyFloat64("ReagentCost")
)

// AttributeTypes returns the type of each search attribute, such as "Keyword", by the attribute's name. A namespace has to
// register the attributes with these names and types.
func AttributeTypes() map[string]string {
	types := map[string]string{}
	for _, key := range []temporal.SearchAttributeKey{AttributeAgent, AttributeStatus, AttributeReason, AttributeCost} {
		types[key.GetName()] = key.GetValueType().String()
	}
	return types
}
