package protocol

import "go.temporal.io/sdk/temporal"

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
