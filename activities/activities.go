// Package activities is the doing: it reads definitions, calls models and tools, and waits
// for agents that were found rather than started. It decides nothing that
// the transcript shows; that is package agent's.
//
// API keys, addresses and timeouts live here, on the worker, and never enter a payload.
package activities

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/maypok86/otter/v2"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/tool"
)

// Agent defines one agent.
type Agent struct {
	// Name is the name by which clients and other agents start the agent. Required.
	Name string
	// Description tells other agents, which may call this one, what it can do.
	Description string
	// Model is a name of Options.Models. If there is only one model, the name may be empty.
	Model string
	// Fallback names the models that are asked, in this order, if Model cannot answer.
	Fallback []string
	// Instructions are sent unchanged as the system message. Empty means no system message.
	Instructions string
	// Tools names the tools that the agent may use: "price" is a tool of the worker, "files.read" is a tool of the MCP server "files",
	// and "files.*" means all tools of that server.
	Tools []string
	// Agents names the agents that this one may call as sub-agents.
	Agents []string
	// KeepAgents keeps sub-agents running that nobody waits for when the agent has answered. If it is false, they are cancelled.
	KeepAgents bool
	// OutputSchema is a JSON schema that the agent's answers have to fit. Empty means that an answer is text.
	OutputSchema json.RawMessage
	// Limits that are zero have the values of [agent.Limits.WithDefaults].
	Limits agent.Limits
}

// models are those that may answer, in order.
func (a Agent) models() []string { return append([]string{a.Model}, a.Fallback...) }

// Model is one model that a worker can reach.
type Model struct {
	Client llm.Client
	Model  string // the provider's name
	Params llm.Params
	Price  agent.Price
	// SendReasoning sends back what the model thought to agents whose first model this is.
	SendReasoning bool
	// Queue is a task queue for the calls of agents whose first model this is; empty means the agent's own. Where its
	// workers set TaskQueueActivitiesPerSecond, Temporal holds that bound over all of them.
	Queue string
	// TokensPerMinute bounds what this worker sends and receives, by itself: Temporal counts tasks, not
	// tokens. Zero means no bound.
	TokensPerMinute int
}

// Options say what a worker offers. They must not be modified after [New].
type Options struct {
	// Temporal is the client through which an activity asks its own workflow for
	// what is to be sent. Required.
	Temporal client.Client
	Agents   []Agent
	Models   map[string]Model
	// Tools may be nil when no agent has any. [New] copies it: tools that are added later are not known.
	Tools *tool.Registry
	// ToolTimeout bounds one run of a tool. Defaults to 10 minutes.
	ToolTimeout time.Duration
	// RolloutTimeout limits the time that an agent which this worker does not serve waits for a worker that does. Defaults to 5 minutes.
	RolloutTimeout time.Duration
	// CacheBytes bounds the memory for transcripts, earlier runs and results. Defaults to 256 MiB.
	CacheBytes int
	// KeepDir is a folder in which results of models and tools are kept from the moment they arrive, for a worker that
	// is started again before Temporal has them. Empty means in memory only. The files are bounded in bytes and age and
	// can be read by their owner only, but they are plain text, whatever payload codec the Temporal client has.
	KeepDir string
	// Streamer is told the pieces of replies as they come; nil means nobody is.
	Streamer Streamer
	// Converter reads memos and histories; it is the one of the Temporal client, with its codecs.
	// Defaults to the SDK's.
	Converter converter.DataConverter
	// Redact takes secrets out of a text. What models and tools say passes through it, and so do their errors, before it
	// enters a payload. It must be safe for concurrent use. Nil means that texts stay as they are.
	Redact func(string) string
	// Log defaults to [slog.Default].
	Log *slog.Logger
}

// Activities holds what the activities need. It is safe for concurrent use.
type Activities struct {
	temporal    client.Client
	agents      map[string]Agent
	models      map[string]Model
	tools       *tool.Registry
	toolTimeout time.Duration
	cache       *cache
	indexes     *otter.Cache[string, *index] // by run ID
	results     *otter.Cache[location, *commonpb.Payloads]
	lists       *otter.Cache[string, []string] // the other runs, by run ID
	lineages    *otter.Cache[string, []string]
	states      *otter.Cache[string, packedState]
	kept        *kept
	running     running
	flights     singleflight.Group
	streamer    Streamer
	redact      func(string) string
	// rolloutTimeout is Options.RolloutTimeout.
	rolloutTimeout time.Duration

	paces     map[string]*rate.Limiter
	converter converter.DataConverter
	log       *slog.Logger
}

// New checks the options against each other and returns the activities. The
// error names every agent that cannot work, so that a worker fails at its start.
// Tools are looked up when an agent starts; see [Activities.Check].
func New(o Options) (*Activities, error) {
	if o.Temporal == nil {
		return nil, errors.New("activities: Options.Temporal is not set")
	}
	if o.ToolTimeout == 0 {
		o.ToolTimeout = 10 * time.Minute
	}
	if o.RolloutTimeout == 0 {
		o.RolloutTimeout = 5 * time.Minute
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 256 << 20
	}
	if o.Converter == nil {
		o.Converter = converter.GetDefaultDataConverter()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	if o.Tools == nil {
		o.Tools = new(tool.Registry)
	}
	transcripts, err := newCache(o.CacheBytes / 2)
	if err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	indexes, err := newIndexes(o.CacheBytes / 16)
	if err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	results, err := newResults(o.CacheBytes * 3 / 16)
	if err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	lists, err := otter.New(&otter.Options[string, []string]{
		MaximumWeight: maxListed, Weigher: func(_ string, runs []string) uint32 { return uint32(1 + len(runs)) },
	})
	if err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	lineages, err := otter.New(&otter.Options[string, []string]{MaximumSize: maxLineages})
	if err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	states, err := otter.New(&otter.Options[string, packedState]{
		MaximumWeight: uint64(o.CacheBytes / 8),
		Weigher:       func(_ string, p packedState) uint32 { return uint32(len(p.data)) },
	})
	if err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	reported, err := newKept(o.CacheBytes/8, o.KeepDir, o.Log)
	if err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	a := &Activities{
		temporal: o.Temporal, agents: map[string]Agent{}, models: o.Models, tools: o.Tools.Clone(),
		toolTimeout: o.ToolTimeout, cache: transcripts, indexes: indexes, results: results, lists: lists, lineages: lineages, states: states, kept: reported,
		rolloutTimeout: o.RolloutTimeout, streamer: o.Streamer, redact: o.Redact, converter: o.Converter, log: o.Log,
	}
	reader, err := a.resultReader()
	if err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	if err := a.tools.Add(reader); err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	a.pace(o.Models)
	var problems []error
	agents := slices.Clone(o.Agents)
	for i, def := range agents {
		if _, twice := a.agents[def.Name]; twice {
			problems = append(problems, fmt.Errorf("agent %s is defined twice", def.Name))
		}
		if def.Model == "" && len(o.Models) == 1 {
			agents[i].Model = slices.Collect(maps.Keys(o.Models))[0]
		}
		a.agents[def.Name] = agents[i]
	}
	for _, def := range agents {
		if err := def.Limits.Check(); err != nil {
			problems = append(problems, fmt.Errorf("agent %s: %w", def.Name, err))
		}
		for _, name := range def.models() {
			if _, ok := a.models[name]; !ok {
				problems = append(problems, fmt.Errorf("agent %s: there is no model %q: set Model to one of %v",
					def.Name, name, slices.Sorted(maps.Keys(a.models))))
			}
		}
		for _, sub := range def.Agents {
			if _, ok := a.agents[sub]; !ok {
				problems = append(problems, fmt.Errorf("agent %s: there is no agent %q to call; the agents are %v",
					def.Name, sub, slices.Sorted(maps.Keys(a.agents))))
			}
		}
	}
	return a, errors.Join(problems...)
}

// Registry is the part of a worker that takes activities.
type Registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register makes the activities known to a worker.
func (a *Activities) Register(r Registry) {
	r.RegisterActivityWithOptions(a.LoadAgent, activity.RegisterOptions{Name: protocol.LoadAgent})
	r.RegisterActivityWithOptions(a.CallModel, activity.RegisterOptions{Name: protocol.CallModel})
	r.RegisterActivityWithOptions(a.CallTool, activity.RegisterOptions{Name: protocol.CallTool})
	r.RegisterActivityWithOptions(a.AwaitAgent, activity.RegisterOptions{Name: protocol.AwaitAgent})
	r.RegisterActivityWithOptions(a.ReadAgent, activity.RegisterOptions{Name: protocol.ReadAgent})
	r.RegisterActivityWithOptions(a.FindMessages, activity.RegisterOptions{Name: protocol.FindMessages})
	r.RegisterActivityWithOptions(a.LookAgent, activity.RegisterOptions{Name: protocol.LookAgent})
	r.RegisterActivityWithOptions(a.RecallCall, activity.RegisterOptions{Name: protocol.RecallCall})
}
