// Package protocol defines what the workflow of an agent, its activities and its clients exchange: the names of the workflow,
// the activities, the updates, the queries, the memo fields and the search attributes, and their inputs and results. It also
// converts the end of an activity or a sub-agent into an event of the agent. Histories contain all of this, and clients of other
// versions use it, so a name never changes and fields are only added.
package protocol
