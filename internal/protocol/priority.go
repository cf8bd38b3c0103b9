package protocol

import (
	"cmp"
	"fmt"
)

// Temporal priorities of agents. 1 is the highest, 5 the lowest. If a task queue has a backlog, Temporal gives out tasks of a
// higher priority first.
const (
	// ChatPriority is the default for agents in chat mode.
	ChatPriority = 2
	// ServerPriority is Temporal's default, and the default for agents in task mode.
	ServerPriority = 3
	// ChildPriority is the default for sub-agents.
	ChildPriority = 4
	// SchedulePriority is the default for agents that a Temporal Schedule starts.
	SchedulePriority = 5
	// LowestPriority is the lowest priority.
	LowestPriority = 5
)

// maxTenantBytes is Temporal's limit for fairness keys.
const maxTenantBytes = 64

// CheckPriority returns an error unless the priority is 1 to 5, or 0 for the default.
func CheckPriority(priority int) error {
	if priority < 0 || priority > LowestPriority {
		return fmt.Errorf("the priority is %d; use 1 (highest) to %d (lowest)", priority, LowestPriority)
	}
	return nil
}

// CheckTenant returns an error if the name of a tenant is longer than 64 bytes. An empty name means no tenant.
func CheckTenant(tenant string) error {
	if len(tenant) > maxTenantBytes {
		return fmt.Errorf("the name of the tenant has %d bytes; the limit is %d: choose a shorter name", len(tenant), maxTenantBytes)
	}
	return nil
}

// PriorityOfChild returns the priority with which a sub-agent starts. `parent` is the priority of the parent's workflow, and `child` is
// the priority in the definition of the sub-agent. 0 means the default: [ServerPriority] and [ChildPriority]. A sub-agent never has a
// higher priority than its parent.
func PriorityOfChild(parent, child int) int {
	return max(cmp.Or(parent, ServerPriority), cmp.Or(child, ChildPriority))
}
