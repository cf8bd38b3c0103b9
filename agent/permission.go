package agent

import (
	"slices"

	"github.com/reagent-dev/reagent/internal/canon"
)

// Remember says which later calls an approval also permits. The zero Remember means none.
type Remember string

const (
	// RememberTool permits all later calls of the same tool or sub-agent.
	RememberTool Remember = "tool"
	// RememberCall permits the later calls of the same tool or sub-agent with the same arguments.
	RememberCall Remember = "call"
)

// Permission lets calls of one tool or sub-agent run without a further decision, as long as the agent exists. A person gives it with
// an approval: see [Decision].Remember. A fork has no permissions, and sub-agents have their own.
type Permission struct {
	// Key is the key of the call on which the person decided. It names the permission: see [PermissionRevoked].
	Key Key `json:"key"`
	// Tool is the name of the tool or of the sub-agent.
	Tool string `json:"tool"`
	// Reply is the key of the model call whose reply asked for the call on which the person decided. The permission is for calls of later
	// replies only. The other calls of the same reply were waiting already when the person decided, and need decisions of their own.
	Reply Key `json:"reply,omitempty"`
	// Arguments are the permitted arguments, in canonical JSON. Empty means all arguments.
	Arguments string `json:"arguments,omitempty"`
	// Actor and Time are those of the [Decision].
	Actor
	Time int64 `json:"time,omitempty"`
}

const (
	// maxPermissions is the largest number of permissions of an agent. A further one removes the oldest, so a person is asked again.
	maxPermissions = 200
	// maxRevoked is the largest number of keys in [State].Revoked. An agent that has so many gets no further permission. No key is removed:
	// after a reset, Temporal delivers the approval again, and without the key it would give the permission back.
	maxRevoked = 1000
)

// remember stores the permission that the decision d on the call c gives, if there is one. It stores none that was revoked before, and
// none if the agent has [maxRevoked] revoked ones.
func (s *State) remember(c *Call, d Decision) {
	if d.Remember == "" || slices.Contains(s.Revoked, c.Key) || len(s.Revoked) >= maxRevoked {
		return
	}
	p := Permission{Key: c.Key, Tool: c.Name, Reply: c.Model, Actor: d.Actor, Time: d.Time}
	if d.Remember == RememberCall {
		p.Arguments = canonical(c.Arguments)
	}
	s.Permissions = append(s.Permissions, p)
	if extra := len(s.Permissions) - maxPermissions; extra > 0 {
		s.Permissions = slices.Delete(s.Permissions, 0, extra)
	}
}

func (s *State) applyPermission(c *Call, now int64) {
	p := first(s.Permissions, func(p *Permission) bool {
		return p.Tool == c.Name && p.Reply != c.Model && (p.Arguments == "" || p.Arguments == canonical(c.Arguments))
	})
	if p != nil && c.asksApproval() {
		s.decide(c, Decision{Approve: true, Actor: p.Actor, Time: p.Time}, now)
		c.Decider.Remembered = true
	}
}

func (e PermissionRevoked) apply(s *State) bool {
	if slices.Contains(s.Revoked, e.Key) {
		return false
	}
	had, room := len(s.Permissions), len(s.Revoked) < maxRevoked
	s.Permissions = slices.DeleteFunc(s.Permissions, func(p Permission) bool { return p.Key == e.Key })
	if room {
		s.Revoked = append(s.Revoked, e.Key)
	}
	return room || len(s.Permissions) < had
}

// canonical returns the canonical JSON of the arguments of a call. It returns "{}" for empty arguments.
func canonical(arguments string) string {
	if arguments == "" {
		return "{}"
	}
	text, err := canon.Text([]byte(arguments))
	if err != nil {
		return arguments // openAll refuses such arguments
	}
	return string(text)
}
