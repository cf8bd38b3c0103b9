package reagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/activities"
)

// Reconfigured says what [Plugin.Reconfigure] has changed. The names are sorted.
type Reconfigured struct {
	// Changed are the agents that have another definition now.
	Changed []string
	// Added are the agents that the worker did not serve before, and Removed those that it serves no longer.
	Added, Removed []string
}

// Reconfigure gives the worker other agents, models, tools, MCP servers, tokens of callers, hooks and callbacks, while it runs. The other fields of `o` have
// no effect, except Secrets: those that are new are hidden, too. Agents that start from now on have the new definitions. An agent that is
// running keeps its definition until a reload: see [Client.Reload]. Calls that are running end with the configuration with which they
// began.
//
// The error is that of [New]. After an error, nothing has changed.
//
//   - A local MCP server whose configuration is the same goes on and keeps its state. Any other server is started or connected anew. The
//     earlier one is stopped when the longest call of it must have ended.
//   - A new [Model].RequestsPerMinute of a model that the worker has already has no effect before the worker is restarted.
//   - The identity of the worker keeps the digest of the definitions with which the worker was started.
func (p *Plugin) Reconfigure(ctx context.Context, o Options) (Reconfigured, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done, err := p.reconfigure(ctx, o)
	if err != nil {
		return done, fmt.Errorf("reagent: %w", p.hidden(err))
	}
	return done, nil
}

func (p *Plugin) reconfigure(ctx context.Context, o Options) (Reconfigured, error) {
	var done Reconfigured
	if p.stopped {
		return done, errors.New("the worker has been stopped: make a new one")
	}
	if len(o.Agents) == 0 && o.Lookup == nil {
		return done, errors.New("Options.Agents is empty: define an agent")
	}
	p.hide.Add(o.secrets()...)
	next := p.options
	next.Agents, next.Models, next.Tools, next.MCPServers, next.Elsewhere = o.Agents, o.Models, o.Tools, hidden(o.MCPServers, p.hide), o.Elsewhere
	next.Notify, next.Callbacks, next.Lookup, next.CallerTokens, next.Development = o.Notify, o.Callbacks, o.Lookup, o.CallerTokens, o.Development
	models, modelsErr := next.models(p.hide)
	tools, toolsErr := newToolbox(ctx, next, p.tools)
	made, err := p.current.Get().With(activities.Options{
		Agents: next.Agents, Models: models, Tools: &tools.registry, Notify: next.Notify, Callbacks: next.Callbacks, Lookup: next.Lookup, CallerTokens: next.CallerTokens, Development: next.Development,
	})
	var digests map[string]string
	if err == nil {
		digests, err = made.Digests(ctx)
	}
	if err = errors.Join(modelsErr, toolsErr, withoutServers(err)); err == nil && p.started {
		err = p.serveQueues(next, tools, models)
	}
	if err != nil {
		closeAll(tools.without(p.tools))
		return done, err
	}
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		switch before, served := p.digests[name]; {
		case !served:
			done.Added = append(done.Added, name)
		case before != digests[name]:
			done.Changed = append(done.Changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.digests)) {
		if digests[name] == "" {
			done.Removed = append(done.Removed, name)
		}
	}
	p.retire(p.tools.without(tools))
	p.options, p.models, p.tools, p.digests = next, models, tools, digests
	p.current.Set(made)
	return done, nil
}

// retire stops MCP servers when the calls that may still be running must have ended. [Plugin.Close] stops them at once.
func (p *Plugin) retire(servers []runningServer) {
	for _, server := range servers {
		stop := sync.OnceFunc(func() { closeAll([]runningServer{server}) })
		time.AfterFunc(server.Timeout, stop)
		p.retired = append(p.retired, stop)
	}
}
