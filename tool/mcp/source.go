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

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/flight"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/tool"
)

// listFor is how long [Source.Tools] keeps a list of tools before it reads the list from the server again.
const listFor = time.Minute

// errClosed means that [Source.Close] was called. Later calls, and calls that were in flight, fail with this error.
var errClosed = errors.New("the connection was closed by Source.Close")

// Source provides the tools of one MCP server and keeps the connection to the server. It implements [tool.Source].
//
// If the connection is lost, the next call connects again. For a local server, the Source then starts the command again. For a
// remote server, the Source then opens a new MCP session. Concurrent calls share one attempt to connect. A call that may have
// reached the server is not repeated. A Source is safe for concurrent use.
type Source struct {
	server Server
	censor *redact.Redactor
	life   context.Context // done after Close
	kill   context.CancelFunc
	flight singleflight.Group

	mu      sync.Mutex
	closed  bool
	session *session // nil if there is no usable session
	last    *process // the newest process that was started
	lost    bool     // a session was lost, and no new session has been opened since then
	tools   []tool.Tool
	listed  time.Time // the time of the last attempt to read tools; zero before the first success
	said    []string  // the last lines of the server's stderr
}

const (
	// lastLines is the number of stderr lines in the error for a server that does not start.
	lastLines = 5
	// slowStart is how long a server may take to start before a log entry says that it is still starting.
	slowStart = 2 * time.Second
)

// Connect connects to an MCP server and lists its tools. It returns an error if the configuration is not valid, if the server cannot be
// reached, or if the list cannot be read. Both `ctx` and [Server.ConnectTimeout] limit the duration of Connect. The connection stays open
// after `ctx` has ended. The caller must call [Source.Close].
//
// The errors of a Source do not contain secrets. The values of [Server.Env] and [Server.Headers] are secrets. The user name, the password
// and the query values in [Server.URL] are secrets, too. A value of fewer than 6 bytes does not count as a secret and is not hidden.
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

// Tools returns the server's tools, sorted by their names at the server. Tools keeps the list for a minute and then reads the list again.
// If reading fails, Tools returns the old list. It returns an error if `ctx` ends while it reads the list, and after [Source.Close].
//
// A [tool.Spec] comes from the server's description:
//   - The effect is [tool.ReadOnly] or [tool.Idempotent] if the annotations say so. If they do not, it is [tool.AtMostOnce].
//   - NotDestructive is true only if the annotations say `destructiveHint: false`. Annotations are hints: a server may say what is not
//     true.
//   - The schema is the server's JSON. A schema that is not a JSON object is replaced by {"type":"object"}. If [tool.CheckSchema] refuses
//     the schema, the tool is not in the list.
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
		if refusal, ok := errors.AsType[*tool.TokenError](err); ok {
			return nil, s.errorf("list tools: %w", refusal)
		}
		return nil, s.errorf("list tools: %s", s.reason(err))
	}
	s.server.Logger.Warn("the list of tools could not be read again; the previous list is still used", "error", s.reason(err))
	return slices.Clone(tools), nil
}

// Close ends the connection and the calls in flight. The outcome of these calls is unknown. Close always returns nil.
//
// Close waits until a local server has exited. On Unix, Close also kills the other processes in the server's process group. On
// Linux, Close also kills processes that the server has started and that have left this group. If the Source is starting a
// local server at the same time, this server may exit shortly after Close has returned.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	sess, last := s.session, s.last
	s.session = nil
	s.mu.Unlock()
	s.kill()
	// If an attempt to connect is in progress, Do waits for its end. The attempt sees that closed is set, and stops the
	// process that it started.
	_, _, _ = s.flight.Do("connect", func() (any, error) { return (*session)(nil), errClosed })
	if sess != nil {
		sess.close()
	}
	if last != nil {
		<-last.exited
	}
	return nil
}

// list reads the list of tools from the server and stores the list in the Source. If a session cannot read the list, list tries once more
// with a new session. If it cannot connect, it does not try again.
func (s *Source) list() ([]tool.Tool, error) {
	ctx, cancel := context.WithTimeout(s.life, s.server.ConnectTimeout)
	defer cancel()
	defer func() {
		// listed is also set after an error. If it were not, every call of Tools would try to reach a server that is down.
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.listed.IsZero() {
			s.listed = time.Now()
		}
	}()
	var all []listed
	for attempt := 1; ; attempt++ {
		sess, err := s.connected(ctx)
		if ctx.Err() != nil && s.life.Err() == nil {
			err = s.told(fmt.Errorf("the server did not answer within %v", s.server.ConnectTimeout))
		}
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

// logChanges logs a warning for each tool that the server has added, changed or removed. `before` has the old tools, and
// `after` has the new ones. The warnings are for the operator, because agents that are already running keep the old
// descriptions.
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
		case !bytes.Equal(was.Schema, spec.Schema) || was.Description != spec.Description || was.Effect != spec.Effect,
			was.Destructive() != spec.Destructive():
			s.server.Logger.Warn("the server describes a tool differently; running agents keep the old description", "tool", spec.Name,
				"effect_before", was.Effect, "effect", spec.Effect, "destructive_before", was.Destructive(), "destructive", spec.Destructive())
		}
	}
	for name := range old {
		s.server.Logger.Warn("the server does not list a tool any more", "tool", name)
	}
}

// describe converts a server's list into tools. If models do not accept the name of a tool, the tool gets another one: see
// [tool.ModelName]. If several tools in the list have the same name, describe keeps only the first one. If [tool.CheckSchema]
// refuses the schema of a tool, describe omits the tool. It logs each tool that it omits. It also logs each tool in
// [Server.Rename] that the server does not have.
func (s *Source) describe(all []listed) []tool.Tool {
	slices.SortStableFunc(all, func(a, b listed) int { return cmp.Compare(a.Name, b.Name) })
	tools := make([]tool.Tool, 0, len(all))
	taken := func(name string) bool {
		return slices.ContainsFunc(all, func(l listed) bool { return s.server.modelName(l.Name) == name }) ||
			slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == name })
	}
	for i, l := range all {
		if i > 0 && all[i-1].Name == l.Name {
			s.server.Logger.Warn("the server lists a tool twice; the first is used", "tool", l.Name)
			continue
		}
		spec := l.spec(s.server)
		spec.Name = tool.ModelName(spec.Name, taken)
		if err := tool.CheckSchema(spec.Schema); err != nil {
			s.server.Logger.Warn("the server's schema of a tool cannot be used; agents do not get the tool", "tool", l.Name, "error", err)
			continue
		}
		tools = append(tools, &remote{source: s, name: l.Name, spec: spec})
	}
	for name := range s.server.Rename {
		if !slices.ContainsFunc(all, func(l listed) bool { return l.Name == name }) {
			s.server.Logger.Warn("rename contains a tool that the server does not have", "tool", name)
		}
	}
	return tools
}

// Concurrent callers share one attempt to open a session.
func (s *Source) connected(ctx context.Context) (*session, error) {
	s.mu.Lock()
	sess := s.session
	s.mu.Unlock()
	if sess != nil && sess.alive() {
		return sess, nil
	}
	return flight.Do(ctx, &s.flight, "connect", func(context.Context) (*session, error) { return s.connect() })
}

// connect must not be called concurrently.
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
		// The new process waits for the end of the previous one, because both may need the same port or browser profile.
		select {
		case <-last.exited:
		case <-ctx.Done():
			return nil, errors.New("the server is not started again because its previous process is still running; end that process if it does not exit")
		}
	}
	slow := time.AfterFunc(slowStart, func() {
		s.server.Logger.Warn("waiting for the server to start", "at_most", s.server.ConnectTimeout)
	})
	defer slow.Stop()
	s.mu.Lock()
	s.said = nil
	s.mu.Unlock()
	sess, err := openSession(ctx, s.server, s.censor, s.logLine)
	if err != nil {
		return nil, s.told(fmt.Errorf("connect: %w", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		go sess.close()
		s.last = sess.process
		return nil, errClosed
	}
	if s.lost && s.server.Stateful {
		s.server.Logger.Warn("reconnected; the state that the server kept between calls is lost")
	}
	s.session, s.last, s.lost = sess, sess.process, false
	return sess, nil
}

// told adds the last lines of the server's stderr to an error.
func (s *Source) told(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.said) == 0 {
		return err
	}
	return fmt.Errorf("%w; the server wrote:\n  %s", err, strings.Join(s.said, "\n  "))
}

// drop removes a session from the Source and closes the session in the background. The next call then opens a new session. If
// `sess` is not the current session, drop does nothing.
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

// logLine also keeps the line for the errors of [Source.connect].
func (s *Source) logLine(line string) {
	line = s.censor.Text(line)
	s.server.Logger.Debug("stderr", "line", line) // it may have parts of conversations
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said = append(s.said, clip.Middle(line, 200)); len(s.said) > lastLines {
		s.said = s.said[1:]
	}
}

func (s *Source) errorf(format string, args ...any) error {
	return fmt.Errorf("mcp server %s: "+format, append([]any{s.server.Name}, args...)...)
}

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
		Name:           s.modelName(l.Name),
		Description:    cmp.Or(l.Description, l.Title),
		Schema:         schema,
		Effect:         effect,
		NotDestructive: l.Annotations.DestructiveHint != nil && !*l.Annotations.DestructiveHint,
		TaskQueue:      s.TaskQueue,
	}
}
