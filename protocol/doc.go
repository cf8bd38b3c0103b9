// Package protocol defines what the workflow of an agent and its activities exchange: the names of activities, updates and
// queries, and the inputs and results that histories contain. It also converts the end of an activity or a sub-agent into
// an event of the agent. Histories contain all of this, so a name never changes and fields are only added.
package protocol
