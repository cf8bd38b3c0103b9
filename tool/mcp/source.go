package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/reagent-dev/reagent/internal/flight"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/tool"
)

// listFor is the time for which a list of tools counts as current.
const listFor = time.Minute

// errClosed is returned by the calls of a closed Source.
var errClosed = errors.New("the connection was closed here")

// Source is the tools of one MCP server. It implements [tool.Source].
//
// A connection that is lost is made anew by the next call: a command is started
// again, a URL gets a new session. Calls that wait for it share one attempt. A call
// that was in flight is not repeated. A Source is safe for concurrent use.
type Source struct {
	server Server
	censor *redact.Redactor
	life   context.Context // ends with Close
	kill   context.CancelFunc
	flight singleflight.Group

	mu      sync.Mutex
	closed  bool
	session *session // nil when there is none to use
	last    *process // the newest process that was started
	lost    bool     // a session was lost since the last one was opened
	tools   []tool.Tool
	listed  time.Time // of tools
	said    []string  // the last lines of the server's stderr
}

const (
	// lastLines is the number of lines of stderr in the error for a server that does not start.
	lastLines = 5
	// slowStart is the time after which the log mentions a server that is still starting.
	slowStart = 3 * time.Second
)

// Connect connects to a server and lists its tools. It fails when the
// configuration contradicts itself or the server cannot be reached; the context
// limits how long that takes, beside Server.ConnectTimeout. The connection outlives the
// context: the caller calls [Source.Close].
//
// No error of a Source holds a value of the server's Env, Headers or URL query.
func Connect(ctx context.Context, server Server) (*Source, error) {
	server, err := server.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Source{server: server, censor: censor(server)}
	s.life, s.kill = context.WithCancel(context.Background())
	if _, err := s.Tools(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Tools returns the server's tools, sorted by name. A list that is older than a
// minute is read again; if that fails, the old one is returned.
//
// A tool's effect is [tool.ReadOnly] or [tool.Idempotent] where the server hints
// at it, else [tool.AtMostOnce]. Its schema is the server's, byte for byte.
func (s *Source) Tools(ctx context.Context) ([]tool.Tool, error) {
	s.mu.Lock()
	tools, listed, closed := s.tools, s.listed, s.closed
	s.mu.Unlock()
	if closed {
		return nil, s.errorf("%w", errClosed)
	}
	if !listed.IsZero() && time.Since(listed) < listFor {
		return slices.Clone(tools), nil
	}
	fresh, err := flight.Do(ctx, &s.flight, "list", func(context.Context) ([]tool.Tool, error) { return s.list() })
	switch {
	case err == nil:
		return slices.Clone(fresh), nil
	case listed.IsZero() || ctx.Err() != nil:
		return nil, s.errorf("list tools: %s", s.reason(err))
	}
	s.server.Logger.Warn("tools could not be listed again; the list of before is used", "error", s.reason(err))
	return slices.Clone(tools), nil
}

// Close ends the connection, and with it the calls in flight, whose outcome is
// then unknown. It returns when the server's process and what it started are gone.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	sess, last := s.session, s.last
	s.session = nil
	s.mu.Unlock()
	s.kill()
	// A connection attempt under way sees that and cleans up after itself.
	_, _, _ = s.flight.Do("connect", func() (any, error) { return (*session)(nil), errClosed })
	if sess != nil {
		sess.close()
	}
	if last != nil {
		<-last.exited
	}
	return nil
}

// list reads the list of tools from the server.
func (s *Source) list() ([]tool.Tool, error) {
	ctx, cancel := context.WithTimeout(s.life, s.server.ConnectTimeout)
	defer cancel()
	defer func() {
		// After a failure too, so that a server that is down is not asked at every call.
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.listed.IsZero() {
			s.listed = time.Now()
		}
	}()
	var all []listed
	for attempt := 1; ; attempt++ {
		sess, err := s.connected(ctx)
		if err != nil {
			return nil, err
		}
		if all, err = sess.list(ctx); err == nil {
			break
		}
		s.drop(sess)
		if attempt == 2 || ctx.Err() != nil {
			return nil, err
		}
	}
	tools := s.describe(all)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listed.IsZero() {
		s.logChanges(s.tools, tools)
	}
	s.tools, s.listed = tools, time.Now()
	return tools, nil
}

// logChanges logs how a list of tools differs from the one before. Agents that run keep the definitions that they have.
func (s *Source) logChanges(before, after []tool.Tool) {
	old := map[string]tool.Spec{}
	for _, t := range before {
		old[t.Spec().Name] = t.Spec()
	}
	for _, t := range after {
		spec := t.Spec()
		was, known := old[spec.Name]
		delete(old, spec.Name)
		switch {
		case !known:
			s.server.Logger.Warn("the server has a new tool", "tool", spec.Name)
		case !bytes.Equal(was.Schema, spec.Schema) || was.Description != spec.Description || was.Effect != spec.Effect:
			s.server.Logger.Warn("the server describes a tool differently; running agents keep the old description", "tool", spec.Name,
				"effect_before", was.Effect, "effect", spec.Effect)
		}
	}
	for name := range old {
		s.server.Logger.Warn("the server does not list a tool any more", "tool", name)
	}
}

// describe makes tools of what a server listed.
func (s *Source) describe(all []listed) []tool.Tool {
	slices.SortStableFunc(all, func(a, b listed) int { return cmp.Compare(a.Name, b.Name) })
	tools := make([]tool.Tool, 0, len(all))
	for i, l := range all {
		if i > 0 && all[i-1].Name == l.Name {
			s.server.Logger.Warn("the server lists a tool twice; the first is used", "tool", l.Name)
			continue
		}
		spec := l.spec(s.server)
		if err := tool.CheckSchema(spec.Schema); err != nil {
			s.server.Logger.Warn("a tool of the server is left out", "tool", l.Name, "error", err)
			continue
		}
		tools = append(tools, &remote{source: s, name: l.Name, spec: spec})
	}
	for name := range s.server.Rename {
		if !slices.ContainsFunc(all, func(l listed) bool { return l.Name == name }) {
			s.server.Logger.Warn("rename names a tool that the server does not have", "tool", name)
		}
	}
	return tools
}

// connected returns a session to use, a new one if there is none.
func (s *Source) connected(ctx context.Context) (*session, error) {
	s.mu.Lock()
	sess := s.session
	s.mu.Unlock()
	if sess != nil && sess.alive() {
		return sess, nil
	}
	return flight.Do(ctx, &s.flight, "connect", func(context.Context) (*session, error) { return s.connect() })
}

// connect opens a session. Only one runs at a time.
func (s *Source) connect() (*session, error) {
	s.mu.Lock()
	old, last, closed := s.session, s.last, s.closed
	s.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	if old != nil && old.alive() {
		return old, nil
	}
	if old != nil {
		s.drop(old)
	}
	ctx, cancel := context.WithTimeout(s.life, s.server.ConnectTimeout)
	defer cancel()
	if last != nil {
		// Two of a server may not go together: it may hold a port or a profile.
		select {
		case <-last.exited:
		case <-ctx.Done():
			return nil, errors.New("the server of before does not exit")
		}
	}
	slow := time.AfterFunc(slowStart, func() {
		s.server.Logger.Warn("waiting for the server to start", "at_most", s.server.ConnectTimeout)
	})
	defer slow.Stop()
	s.mu.Lock()
	s.said = nil
	s.mu.Unlock()
	sess, err := openSession(ctx, s.server, s.logLine)
	s.mu.Lock()
	said := strings.Join(s.said, "\n  ")
	s.mu.Unlock()
	if err != nil && said != "" {
		return nil, fmt.Errorf("connect: %w; the server wrote:\n  %s", err, said)
	}
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		go sess.close()
		s.last = sess.process
		return nil, errClosed
	}
	if s.lost && s.server.Stateful {
		s.server.Logger.Warn("reconnected; what the server kept between calls is gone")
	}
	s.session, s.last, s.lost = sess, sess.process, false
	return sess, nil
}

// drop gives up a session, so that the next call gets a new one.
func (s *Source) drop(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session != sess {
		return
	}
	s.session, s.lost = nil, true
	s.server.Logger.Info("connection lost")
	go sess.leave()
}

func (s *Source) logLine(line string) {
	line = s.censor.Text(line)
	s.server.Logger.Info("stderr", "line", line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said = append(s.said, tool.Clip(line, 200)); len(s.said) > lastLines {
		s.said = s.said[1:]
	}
}

// errorf makes an error that names the server.
func (s *Source) errorf(format string, args ...any) error {
	return fmt.Errorf("mcp server %s: "+format, append([]any{s.server.Name}, args...)...)
}

// spec is the tool's description for an agent.
func (l listed) spec(s Server) tool.Spec {
	effect := tool.AtMostOnce
	switch {
	case l.Annotations.ReadOnlyHint:
		effect = tool.ReadOnly
	case l.Annotations.IdempotentHint:
		effect = tool.Idempotent
	}
	var object map[string]json.RawMessage
	schema := l.InputSchema
	if json.Unmarshal(schema, &object) != nil || object == nil {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return tool.Spec{
		Name:        s.modelName(l.Name),
		Description: cmp.Or(l.Description, l.Title),
		Schema:      schema,
		Effect:      effect,
		Queue:       s.Queue,
	}
}
