package page

import (
	"context"
	"errors"
	"net/http"

	"github.com/reagent-dev/reagent/gateway/access"

	"github.com/reagent-dev/reagent/client"
)

// The scopes about which the page asks [Caller].May.
const (
	scopeTalk    = "talk"    // start conversations, continue, interrupt and fork them
	scopeRead    = "read"    // read conversations
	scopeApprove = "approve" // decide on calls, and answer questions
)

// Caller is who has sent a request.
type Caller struct {
	// Name is the owner of the conversations that the caller starts. An empty name owns none.
	Name string
	// ProvedBy says what has proved the name. It is shown to the caller.
	ProvedBy string
	// May reports whether the caller may "talk", "read" or "approve" with the agent of the given name. Nil means that the caller may.
	May func(scope, agent string) bool
	// SeesAll lets the caller see the conversations of other callers, too, and those without an owner.
	SeesAll bool
}

func (c Caller) may(scope, agent string) bool { return c.May == nil || c.May(scope, agent) }

func (c Caller) owns(owner string) bool { return c.SeesAll || c.Name != "" && c.Name == owner }

func (h *handler) caller(r *http.Request) Caller {
	if h.Caller == nil {
		return Caller{SeesAll: true}
	}
	return h.Caller(r)
}

// find returns the agent with the given ID if the caller may do this with it. A conversation of somebody else looks like one that does not
// exist.
func (h *handler) find(ctx context.Context, c Caller, id, scope string) (client.Snapshot, error) {
	snap, err := h.agents.ShowRecorded(ctx, id)
	switch {
	case errors.Is(err, client.ErrNoServer), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return snap, err
	case errors.Is(err, client.ErrNotFound), !c.SeesAll && (err != nil || !c.owns(snap.Metadata[access.OwnerKey])):
		return snap, errNotFound
	case err != nil:
		return snap, err
	case !c.may(scope, snap.Agent):
		return snap, &problem{http.StatusForbidden, "You may not " + scope + " with this agent.", "Ask the operator for the permission."}
	}
	return snap, nil
}
