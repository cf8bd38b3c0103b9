// Package access decides who may use the gateway: API keys and OIDC tokens prove callers, and each caller has scopes, agents and limits. It
// also bounds what clients can take from the server: bodies, connections, and streams that nobody reads.
package access

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
)

// Scope is what a caller may do.
type Scope string

const (
	// Talk starts conversations and continues them.
	Talk Scope = "talk"
	// Read reads conversations.
	Read Scope = "read"
	// Approve decides on tool calls and answers an agent's questions.
	Approve Scope = "approve"
)

// Scopes returns all scopes.
func Scopes() []Scope { return []Scope{Talk, Read, Approve} }

// OwnerKey is the name in an agent's metadata that has the name of the caller who owns the conversation: see [Caller].Name. Sub-agents and
// forks have the owner of their origin.
const OwnerKey = "gateway.owner"

// Grant is what a caller may do, and with which agents. The zero Grant permits nothing.
type Grant struct {
	// Agents are names of agents or patterns of names in the syntax of [path.Match], such as support-*.
	Agents []string
	Scopes []Scope
	// All lets the caller see and continue the conversations of other callers, too, as far as Agents and Scopes permit it.
	All bool
}

// May reports whether the grant permits the scope for an agent.
func (g Grant) May(scope Scope, agent string) bool {
	return slices.Contains(g.Scopes, scope) && slices.ContainsFunc(g.Agents, func(pattern string) bool {
		matches, err := path.Match(pattern, agent)
		return err == nil && matches
	})
}

// Caller is the proved identity of who has sent a request.
type Caller struct {
	// Name is the owner of the caller's conversations: "key:" and the name of an API key, or the issuer, "#" and the subject of an OIDC token. It
	// is unique, and has at most 200 bytes. The user of this machine has an empty name.
	Name string
	// ProvedBy says what has proved the name: "api key", or "oidc" and the issuer. It is empty for the user of this machine.
	ProvedBy string
	Grant
}

// Require returns nil if the caller may do this with the agent, and otherwise an error with the status 403. It does not say whether there is
// such an agent.
func (c Caller) Require(scope Scope, agent string) *Error {
	if c.May(scope, agent) {
		return nil
	}
	return &Error{
		Status: http.StatusForbidden, Code: "not_allowed",
		Message: fmt.Sprintf("you may not %s with the agent %q; ask the operator for the scope %q and the agent in the access file", scope, agent, scope),
	}
}

// Sees reports whether the caller may see the conversations of an owner. A conversation that was not started through the gateway has no owner,
// and only a caller with All sees it.
func (c Caller) Sees(owner string) bool { return c.All || c.Name != "" && c.Name == owner }

// local is the user of this machine: see [Control.Authenticates].
func local() Caller { return Caller{Grant: Grant{Agents: []string{"*"}, Scopes: Scopes(), All: true}} }

type contextKey struct{}

// WithCaller returns a context with the caller, for [FromContext].
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// FromContext returns the caller of the request with this context. Outside of [Control.Handler], it is the zero Caller, who may do nothing.
func FromContext(ctx context.Context) Caller {
	c, _ := ctx.Value(contextKey{}).(Caller)
	return c
}
