package reagenttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Point is a moment of a call at which a worker can crash: see [Agents.Crash].
type Point struct{ what, name string }

// String returns a description of the point.
func (p Point) String() string { return p.what + " " + p.name }

// BeforeTool is reached when a worker is about to run the tool, which has changed nothing yet.
func BeforeTool(name string) Point { return Point{"before the tool", name} }

// AfterTool is reached when the tool has run, and Temporal does not know its result yet.
func AfterTool(name string) Point { return Point{"after the tool", name} }

// DuringModel is reached when the model has the request, and its reply has not reached the worker. The name is that in [reagent.Options].Models.
func DuringModel(name string) Point { return Point{"during a call of the model", name} }

// Crash lets the worker crash when it next reaches the point. From then on, the worker has no connection to Temporal, and what it had in
// memory is lost; calls in flight are cancelled. Temporal gives them up after the heartbeat timeout. Another worker starts at once. What
// lives in the test, such as the variables of a tool function, stays: it stands for the world outside.
//
// Only tools of [reagent.Options].Tools and models with a [reagent.Model].Client have points. A later call of Crash replaces an earlier
// one whose point was not reached; with the zero Point, no worker crashes. Crash needs [OnServer].
func (a *Agents) Crash(at Point) {
	a.t.Helper()
	if a.server == nil {
		a.t.Fatalf("reagenttest: crash %s: %v", at, errNeedsServer)
	}
	if at != (Point{}) && !slices.Contains(a.points(), at) {
		a.t.Fatalf("reagenttest: crash %s: there is no such tool in Options.Tools, or no such model with a Client in Options.Models", at)
	}
	a.crash.arm(at)
}

// Crashes returns how many workers have crashed. It tells whether the point of [Agents.Crash] was reached.
func (a *Agents) Crashes() int { return a.crash.count() }

func (a *Agents) points() []Point {
	var all []Point
	for _, t := range a.options.Tools {
		if _, invalid := t.(interface{ Invalid() error }); !invalid {
			all = append(all, BeforeTool(t.Spec().Name), AfterTool(t.Spec().Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.models)) {
		all = append(all, DuringModel(name))
	}
	return all
}

// crash is the point at which the next worker crashes. The zero value has none.
type crash struct {
	mu    sync.Mutex
	at    Point
	times int
}

func (c *crash) arm(at Point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// take reports whether the worker that has reached the point must crash. It does so once.
func (c *crash) take(at Point) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at != c.at {
		return false
	}
	c.at = Point{}
	c.times++
	return true
}

func (c *crash) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.times
}

var errCrashed = errors.New("the worker has crashed, as the test wanted")

// watch returns the options for one worker, with tools and models that are recorded. They call `reach` at each point, and do not go on if
// it returns an error.
func (a *Agents) watch(reach func(context.Context, Point) error) reagent.Options {
	o := a.options
	o.Tools = slices.Clone(o.Tools)
	for i, t := range o.Tools {
		if _, invalid := t.(interface{ Invalid() error }); !invalid {
			o.Tools[i] = watched{Tool: t, effects: &a.effects, reach: reach}
		}
	}
	o.Models = maps.Clone(o.Models)
	for name := range a.models {
		m := o.Models[name]
		m.Client = reached{client: m.Client.(*llmtest.Model), reach: func(ctx context.Context) error { return reach(ctx, DuringModel(name)) }}
		o.Models[name] = m
	}
	return o
}

// reached is a model at which a worker may crash.
type reached struct {
	client *llmtest.Model
	reach  func(context.Context) error
}

// Complete implements [llm.Client].
func (r reached) Complete(ctx context.Context, req llm.Request) (llm.Reply, error) {
	reply, err := r.client.Complete(ctx, req)
	if crashed := r.reach(ctx); crashed != nil {
		return llm.Reply{}, fmt.Errorf("scripted model: %w", crashed)
	}
	return reply, err
}
