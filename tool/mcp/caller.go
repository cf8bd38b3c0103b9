package mcp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/reagent-dev/reagent/tool"
)

// caller has the token of the caller for one tool call: see [Server.CallerToken].
type caller struct {
	server string

	mu    sync.Mutex
	token string
	// problem says why the server did not get what was sent with the token; nil if nothing was refused.
	problem error
}

type callerKey struct{}

// asCaller returns a context whose HTTP requests have the token of the caller. It is the context itself for a server that gets no such token.
func (s *Source) asCaller(ctx context.Context) (context.Context, error) {
	if !s.server.CallerToken {
		return ctx, nil
	}
	token, err := tool.CallerToken(ctx, s.server.Name, "")
	if err != nil {
		return nil, err
	}
	return context.WithValue(ctx, callerKey{}, &caller{server: s.server.Name, token: token}), nil
}

func callerFrom(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// headers adds the token to the headers of a request. `refused` are those that the server has just refused; nil if there are none.
func (c *caller) headers(ctx context.Context, others map[string]string, refused *map[string]string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if refused != nil {
		token, err := tool.CallerToken(ctx, c.server, c.token)
		if err != nil {
			c.problem = err
			return nil, err
		}
		c.token = token
	}
	all := map[string]string{authorization: bearer(c.token)}
	for name, value := range others {
		if http.CanonicalHeaderKey(name) != authorization {
			all[name] = value
		}
	}
	return all, nil
}

// note records that the server has answered a request. It may be nil.
func (c *caller) note(status int) {
	if c == nil || status != http.StatusUnauthorized && status != http.StatusForbidden {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problem = &tool.TokenError{Reason: fmt.Sprintf("the server refuses the token of the caller (HTTP %d %s)", status, http.StatusText(status))}
}

// refusal returns why the caller's token was of no use; `err` if that is not the reason.
func (c *caller) refusal(err error) error {
	if c == nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.problem, err)
}

// sessionFor returns the session for a call. A session with an ID belongs to one user, so a call for a caller gets one of its own, which `done`
// ends. Otherwise all calls share one.
func (s *Source) sessionFor(ctx context.Context) (sess *session, done func(), err error) {
	sess, err = s.connected(ctx)
	if err != nil || callerFrom(ctx) == nil || sess.client.ID() == "" {
		return sess, func() {}, err
	}
	sess, err = openSession(ctx, s.server, s.censor, s.logLine)
	if err != nil {
		return nil, func() {}, err
	}
	return sess, sess.close, nil
}
