package object

import "github.com/reagent-dev/reagent/agent"

// Permission lets calls of an agent run without a person's decision.
type Permission struct {
	ID     string    `json:"id"`
	Handle string    `json:"handle"`
	Key    agent.Key `json:"key"`
	Tool   string    `json:"tool"`
	// Arguments is absent if all arguments are permitted.
	Arguments string `json:"arguments,omitempty"`
	Actor

	Time Time `json:"time,omitzero"`
}

func (Permission) kind() string { return "permission" }

// NewPermission returns the object of a permission of an agent.
func NewPermission(id string, p agent.Permission) Permission {
	return Permission{
		ID: id, Handle: p.Key.Handle(), Key: p.Key, Tool: p.Tool, Arguments: p.Arguments, Actor: Actor(p.Actor), Time: at(p.Time),
	}
}
