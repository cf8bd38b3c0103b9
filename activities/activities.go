// Package activities implements the Temporal activities of agents. The activities read definitions, call models and tools, wait
// for sub-agents that were started before, and read the histories of earlier runs. Package agent decides what enters the
// transcript.
//
// API keys, addresses of endpoints and timeouts of tools belong to the configuration of the worker. They are not part of the
// inputs of activities.
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

// Agent is the configuration of one agent. [Activities.LoadAgent] makes the agent's definition from it.
type Agent struct {
	// Name is the name by which clients and other agents start the agent. Required.
	Name string
	// Description says what the agent can do. It is sent to the models of the agents that may call this agent.
	Description string
	// Model is the name of the agent's model in Options.Models. If there is only one model, the name may be empty.
	Model string
	// Fallback names further models in Options.Models. If a call of Model fails, they are called in this order.
	Fallback []string
	// Instructions are sent unchanged as the system message. Empty means no system message.
	Instructions string
	// Tools names the tools that the agent may use: "price" is a tool of the worker, "files.read" is a tool of the MCP server "files",
	// and "files.*" means all tools of that MCP server.
	Tools []string
	// Agents names the agents that this agent may call as sub-agents.
	Agents []string
	// KeepAgents lets sub-agents that are still running continue when the agent completes. Such a sub-agent exists if, for
	// example, the agent has stopped waiting for it. If KeepAgents is false, these sub-agents are cancelled. An agent that fails
	// or is cancelled always cancels them.
	KeepAgents bool
	// OutputSchema is the JSON schema that the agent's answers must match. Empty means that an answer is text.
	OutputSchema json.RawMessage
	// Limits holds the agent's limits. Fields that are zero have the values of [agent.Limits.WithDefaults].
	Limits agent.Limits
}

// models returns the names of the agent's models in the order in which they are called: Model, then the models in Fallback.
func (a Agent) models() []string { return append([]string{a.Model}, a.Fallback...) }

// Model is one model that a worker can call.
type Model struct {
	Client llm.Client
	Model  string // the provider's name of the model
	Params llm.Params
	Price  agent.Price
	// SendReasoning includes the reasoning of earlier replies in later requests. It applies to agents with this model as their
	// Agent.Model.
	SendReasoning bool
	// Queue is the task queue for the model calls of agents with this model as their Agent.Model. Empty means the agent's own
	// task queue. If the workers of Queue set worker.Options.TaskQueueActivitiesPerSecond, Temporal applies that limit to all of
	// these workers together.
	Queue string
	// TokensPerMinute limits the input and output tokens of this worker's calls of the model. Each worker has a limit of its
	// own, because Temporal can limit tasks but not tokens. Zero means no limit.
	TokensPerMinute int
}

// Options are the agents, models and tools of a worker, and its settings. They must not be modified after [New].
type Options struct {
	// Temporal is the client with which activities query their own workflow, send heartbeats and read histories. Required.
	Temporal client.Client
	Agents   []Agent
	Models   map[string]Model
	// Tools holds the tools. It may be nil if no agent has tools. [New] copies the registry: tools that are added to it later
	// are not available.
	Tools *tool.Registry
	// ToolTimeout limits the time of one attempt at a tool call. Defaults to 10 minutes.
	ToolTimeout time.Duration
	// RolloutTimeout limits the time for which LoadAgent is retried for an agent that this worker does not serve. During a
	// rollout, another worker may serve the agent. Defaults to 5 minutes.
	RolloutTimeout time.Duration
	// CacheBytes limits the memory for transcripts, earlier runs and results, in bytes. Defaults to 256 MiB.
	CacheBytes int
	// KeepDir is a folder for replies of models and results of tools. Each is written there when it arrives. If the worker
	// crashes before Temporal has the result, the restarted worker reports it from the folder. Empty means that results are
	// kept in memory only. The total size and the age of the files are limited, and only their owner can read them. They are
	// plain text, even if the Temporal client has a payload codec.
	KeepDir string
	// Streamer receives the chunks of replies when they arrive. Nil means that chunks are not passed on.
	Streamer Streamer
	// Converter decodes memos and histories. It must be the data converter of the Temporal client, with its codecs.
	// Defaults to the SDK's data converter.
	Converter converter.DataConverter
	// Redact returns a text without its secrets. It is applied to the texts and errors of models and tools before they enter
	// a payload. It must be safe for concurrent use. Nil means that texts are not changed.
	Redact func(string) string
	// Log defaults to [slog.Default].
	Log *slog.Logger
}

// Activities implements the Temporal activities of agents: it calls models and tools, and reads the histories of earlier runs. It
// is safe for concurrent use. Create it with [New].
type Activities struct {
	temporal    client.Client
	agents      map[string]Agent
	models      map[string]Model
	tools       *tool.Registry
	toolTimeout time.Duration
	cache       *cache
	indexes     *otter.Cache[string, *index] // by run ID
	results     *otter.Cache[location, *commonpb.Payloads]
	lists       *otter.Cache[string, []string] // the other runs of a run's workflow ID, by run ID
	lineages    *otter.Cache[string, []string] // the base runs, by run ID
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

// New returns the activities of a worker with the given options. It checks the options, so that a worker with a mistake in them
// fails when it starts. The error names every agent with a mistake. New does not look up the agents' tools: call
// [Activities.Check] for this.
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
				problems = append(problems, fmt.Errorf("agent %s: there is no model %q: use only these names in Model and Fallback: %v",
					def.Name, name, slices.Sorted(maps.Keys(a.models))))
			}
		}
		for _, sub := range def.Agents {
			if _, ok := a.agents[sub]; !ok {
				problems = append(problems, fmt.Errorf("agent %s: there is no agent %q: use only these names in Agents: %v",
					def.Name, sub, slices.Sorted(maps.Keys(a.agents))))
			}
		}
	}
	return a, errors.Join(problems...)
}

// Registry is the part of worker.Worker that [Activities.Register] needs.
type Registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers the activities with a worker, under the names that package protocol defines.
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
