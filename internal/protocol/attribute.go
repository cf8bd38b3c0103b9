package protocol

import "go.temporal.io/sdk/temporal"

// These are the search attributes of an agent. The Web UI and the command `temporal workflow list` can search for agents by
// them. Package client starts an agent with all of these attributes, or with none if the namespace has not registered all of them.
// When AttributeStatus or AttributeWaitingFor changes, the workflow updates all except AttributeAgent in one upsert. Temporal Cloud
// bills an upsert as one action.
var (
	// AttributeAgent is the name of the agent's definition.
	AttributeAgent = temporal.NewSearchAttributeKeyKeyword("ReagentAgent")
	// AttributeStatus is the agent's [agent.Status], as [agent.State.CopiedStatus] returns it. It may differ from
	// [agent.State.Status] only while the agent searches other runs for messages, after a reset.
	AttributeStatus = temporal.NewSearchAttributeKeyKeyword("ReagentStatus")
	// AttributeWaitingFor says for whom the agent waits, as an [agent.WaitsFor]. It is empty if the agent works or has ended. These are
	// its other values:
	//   - "approval", "answer" or "result": a call waits for somebody outside (see [agent.Call.Waits]), and other calls may run.
	//   - "message" or "release": the whole agent waits for a person.
	//   - "sub-agents": an agent in task mode waits for its sub-agents in the background.
	AttributeWaitingFor = temporal.NewSearchAttributeKeyKeyword("ReagentWaitingFor")
	// AttributeReason explains the status. For an agent that is held or has failed, it is the class of the error. For an
	// agent whose last turn a limit has stopped, it is the name of the limit. It is empty for all other agents.
	AttributeReason = temporal.NewSearchAttributeKeyKeyword("ReagentReason")
	// AttributeCost is what the agent and its sub-agents had cost, in US dollars, when the workflow last updated these attributes. It
	// is 0 if the models have no price.
	AttributeCost = temporal.NewSearchAttributeKeyFloat64("ReagentCost")
)

// AttributeTypes returns a map from the name of each search attribute of agents to its type, such as "Keyword". A namespace must have
// these attributes with these types.
func AttributeTypes() map[string]string {
	types := map[string]string{}
	for _, key := range []temporal.SearchAttributeKey{AttributeAgent, AttributeStatus, AttributeWaitingFor, AttributeReason, AttributeCost} {
		types[key.GetName()] = key.GetValueType().String()
	}
	return types
}
