package reagenttest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/reagent-dev/reagent/tool"
)

// Effect is one run of a tool of [reagent.Options].Tools: what has happened outside of the agents.
type Effect struct {
	// Tool is the name of the tool in Options.Tools.
	Tool string
	// Arguments are those with which it ran, a JSON object. A person may have changed them.
	Arguments string
	// Key identifies the call. Two runs with the same key are runs of one call: see [tool.Info].
	Key string
	// AgentID is the ID of the agent or sub-agent that made the call.
	AgentID string
}

// Effects returns the runs of the given tool so far, in the order in which they began. An empty name means all tools. If a call has run
// twice, it is in the result twice. Tools of MCP servers are not watched.
func (a *Agents) Effects(name string) []Effect {
	var found []Effect
	for _, e := range a.effects.all() {
		if name == "" || e.Tool == name {
			found = append(found, e)
		}
	}
	return found
}

// effects has what the tools have done. The zero value is empty.
type effects struct {
	mu   sync.Mutex
	seen []Effect
}

func (e *effects) add(one Effect) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, one)
}

func (e *effects) all() []Effect {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.seen)
}

// runs returns how often each call has run, by its key.
func (e *effects) runs() map[string]int {
	counts := map[string]int{}
	for _, one := range e.all() {
		counts[one.Key]++
	}
	return counts
}

// watched is a tool whose runs are recorded, and at which a worker may crash.
type watched struct {
	tool.Tool
	effects *effects
	reach   func(context.Context, Point) error
}

// Call implements [tool.Tool].
func (w watched) Call(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	name := w.Spec().Name
	if err := w.reach(ctx, BeforeTool(name)); err != nil {
		return tool.Result{}, err
	}
	info := tool.InfoFrom(ctx)
	w.effects.add(Effect{Tool: name, Arguments: string(args), Key: info.Key, AgentID: info.AgentID})
	result, err := w.Tool.Call(ctx, args)
	if err := w.reach(ctx, AfterTool(name)); err != nil {
		return tool.Result{}, err
	}
	return result, err
}
