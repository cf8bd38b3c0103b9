// Package protocol is what the workflow of an agent and its activities say to each other: the names of
// activities, updates and queries, the inputs and results that cross history, and what the end of an activity or a
// sub-agent means to the agent. Everything here stands in histories, so names are fixed and
// fields are only added.
package protocol
