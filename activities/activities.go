// Package activities implements the Temporal activities of agents. The activities read definitions, call models and tools,
// wait for sub-agents that were started before, and read the histories of earlier runs. The package `agent` decides what
// enters the transcript.
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
	"sync/atomic"
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

// Agent is the configuration of one agent. [Activities.LoadAgent] turns this configuration into the agent's definition.
type Agent struct {
	// Name is the name by which clients and other agents start the agent. Required.
	Name string
	// Description says what the agent can do. It is sent to the models of the agents that may call this agent.
	Description string
	// Model is the name of the agent's model, as in `Options.Models`. If there is only one model, the name may be empty.
	Model string
	// Fallback names further models in `Options.Models`. They are called in this order if a call of the agent's model fails.
	Fallback []string
	// Instructions are sent unchanged as the system message. Empty means no system message.
	Instructions string
	// Tools names the tools that the agent may use: "price" is a tool of the worker, "files.read" is a tool of the MCP server
	// "files", and "files.*" means all tools of that MCP server.
	Tools []string
	// Agents names the agents that this agent may call as sub-agents.
	Agents []string
	// Background names those of Agents that work in the background: a call returns at once, and the answer comes later as a message.
	// The agent then also has the tool "agents", which lists and stops them.
	Background []string
	// KeepAgents says that sub-agents that are still running continue when the agent completes. A sub-agent may still be
	// running because the agent stopped waiting for it. If KeepAgents is false, these sub-agents are cancelled. An agent
	// that fails or is cancelled always cancels its running sub-agents.
	KeepAgents bool
	// Priority is the Temporal priority of the agent's model calls and tool calls: 1 (highest) to 5 (lowest). For an agent that
	// runs as a sub-agent, it is the priority of the whole sub-agent, but never higher than that of its parent. If it is
	// zero, the calls have the priority with which the agent was started.
	Priority int
	// Approval says which calls of tools and sub-agents need a person's approval. Nil means that only calls of tools with
	// [tool.Spec.AskFirst] need one.
	Approval ApprovalPolicy
	// ApprovalTimeout is how long a call waits for a person's decision. After this time, the call is denied. Zero means no limit.
	ApprovalTimeout time.Duration
	// OutputSchema is the JSON schema that the agent's answers must match. Empty means that an answer is text.
	OutputSchema json.RawMessage
	// Limits holds the agent's limits. A field that is zero gets its default: see [agent.Limits.WithDefaults].
	Limits agent.Limits
}

// models returns the names of the agent's models in the order in which they are called: first `Agent.Model`, then the names
// in `Agent.Fallback`.
func (a Agent) models() []string { return append([]string{a.Model}, a.Fallback...) }

// Model is one model that a worker can call.
type Model struct {
	// Client sends the requests to the model's provider.
	Client llm.Client
	// Model is the provider's name of the model.
	Model string
	// Params are the parameters of each request to the model.
	Params llm.Params
	// Price is the price of the model for one token. The zero Price means that the price is unknown or that there is none.
	Price agent.Price
	// SendReasoning says that later requests include the reasoning of earlier replies, for the clients that send it. It applies to
	// agents that name this model in `Agent.Model` or `Agent.Fallback`.
	SendReasoning bool
	// Queue is the task queue for the model calls of agents that name this model in `Agent.Model`. Empty means the agent's
	// own task queue. Temporal can limit the rate of a task queue for all its workers together. To use this, set
	// `TaskQueueActivitiesPerSecond` in the `worker.Options` of these workers.
	Queue string
	// TokensPerMinute limits the input and output tokens of this worker's calls of the model. Each worker counts only its own
	// calls, because Temporal can limit tasks but not tokens. Zero means no limit.
	TokensPerMinute int
}

// Options configure a worker: its agents, models and tools, and its settings. The options must not be modified after the call
// of [New].
type Options struct {
	// Temporal is the client with which activities query their own workflow, send heartbeats and read histories. Required.
	Temporal client.Client
	// Agents holds the agents that the worker serves.
	Agents []Agent
	// Models holds the models that the worker can call. Agents use the keys of the map as names of the models.
	Models map[string]Model
	// Tools holds the tools. It may be nil if no agent has tools. [New] copies the registry. Tools that are added later are
	// not available.
	Tools *tool.Registry
	// Notify holds the hooks to which the agents of this worker send notifications.
	Notify []Hook
	// Callbacks adds the URLs for the results of external calls to the notifications. Nil means that there are no such URLs.
	Callbacks *Callbacks
	// ToolTimeout limits the time of one attempt at a tool call. Defaults to 10 minutes.
	ToolTimeout time.Duration
	// RolloutTimeout limits how long [Activities.LoadAgent] is retried for an agent that this worker does not serve, and
	// [Activities.CallTool] for a tool that this worker does not have and that was not run. During the rollout of a new
	// configuration, another worker may have it. Defaults to 5 minutes.
	RolloutTimeout time.Duration
	// CacheBytes limits the memory for transcripts, earlier runs and results, in bytes. Defaults to 256 MiB.
	CacheBytes int
	// KeepDir is a folder for replies of models and results of tools. The worker writes each reply and each result to this
	// folder when it arrives. A worker that crashes before Temporal has a result can report the stored result after the
	// restart. Empty means that results are kept in memory only.
	//
	// The total size and the age of the files are limited. Only their owner can read the files. The files are plain text,
	// even if the Temporal client has a payload codec.
	KeepDir string
	// Lease lets all calls of the worker share one heartbeat. Nil means that each call has only its own heartbeats.
	Lease *LeaseOptions
	// Streamer receives each chunk of a reply when it arrives. Nil means that chunks are not passed on.
	Streamer Streamer
	// Converter decodes memos and histories. It must be the data converter of the Temporal client, with the client's codecs.
	// Defaults to the SDK's data converter.
	Converter converter.DataConverter
	// Redact returns a text without its secrets. The worker applies it to the texts and errors of models and tools before
	// these enter a payload. Redact must be safe for concurrent use. Nil means that texts are not changed.
	Redact func(string) string
	// Log receives the log entries of the activities. Defaults to [slog.Default].
	Log *slog.Logger
}

// LeaseOptions describe the lease of a worker: see [protocol.LeaseWorkflow]. If a worker has a lease, its workflows must give
// calls a longer heartbeat timeout: [workflows.LeaseBackstop].
type LeaseOptions struct {
	// TaskQueue is the task queue of the agents. Required.
	TaskQueue string
	// Recovery is the time without a heartbeat after which another worker takes over the calls of this worker. Required.
	Recovery time.Duration
}

// Activities implements the Temporal activities of agents: it calls models and tools, and reads the histories of earlier
// runs. Activities is safe for concurrent use. Create it with [New].
type Activities struct {
	// temporal is the client of the options, with a limit for list requests.
	temporal    client.Client
	lister      *lister
	agents      map[string]Agent
	hooks       map[string]hook
	callbacks   *callbacks // nil if there are none
	models      map[string]Model
	tools       *tool.Registry
	toolTimeout time.Duration
	cache       *cache
	// indexes caches indexes of histories, by run ID.
	indexes *otter.Cache[string, *index]
	// results caches results of activities.
	results *otter.Cache[location, *commonpb.Payloads]
	// lists caches, for a run ID, all runs with the same workflow ID, newest first.
	lists *otter.Cache[string, []string]
	// lineages caches, for a run ID, the runs from which the run was reset.
	lineages *otter.Cache[string, []string]
	// states caches compressed states of agents.
	states *otter.Cache[string, packedState]
	// kept stores results that Temporal may not have yet.
	kept *kept
	// running holds the model calls and tool calls that this worker is making.
	running running
	// lease is nil if the worker has none.
	lease *lease
	// calls counts the attempts on this worker that send heartbeats.
	calls atomic.Int64
	// flights merges identical reads of histories that happen at the same time.
	flights  singleflight.Group
	streamer Streamer
	redact   func(string) string
	// rolloutTimeout is `Options.RolloutTimeout`.
	rolloutTimeout time.Duration

	// paces holds the rate limiters of the models, by the name of the model.
	paces     map[string]*rate.Limiter
	converter converter.DataConverter
	log       *slog.Logger
}

// New returns the activities of a worker with the given options. It checks the options. Therefore a worker with a mistake in
// its options fails when it starts. The error names every agent with a mistake. New does not look up the agents' tools: call
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
	limited := limitedLists{o.Temporal, rate.NewLimiter(listsPerSecond, 1)}
	a := &Activities{
		temporal: limited, lister: newLister(limited), agents: map[string]Agent{}, hooks: map[string]hook{}, models: o.Models, tools: o.Tools.Clone(),
		toolTimeout: o.ToolTimeout, cache: transcripts, indexes: indexes, results: results, lists: lists, lineages: lineages, states: states, kept: reported,
		rolloutTimeout: o.RolloutTimeout, streamer: o.Streamer, redact: o.Redact, converter: o.Converter, log: o.Log,
	}
	if o.Lease != nil {
		a.lease = newLease(o.Temporal, *o.Lease, o.Log)
	}
	for _, own := range []func() (tool.Tool, error){a.resultReader, questions} {
		made, err := own()
		if err == nil {
			err = a.tools.Add(made)
		}
		if err != nil {
			return nil, fmt.Errorf("activities: %w", err)
		}
	}
	a.pace(o.Models)
	var problems []error
	if a.callbacks, err = newCallbacks(o.Callbacks); err != nil {
		problems = append(problems, err)
	}
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
	for _, h := range o.Notify {
		made, err := newHook(h)
		if _, twice := a.hooks[h.Name]; twice && err == nil {
			err = errors.New("is defined twice")
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("hook %s: %w", h.Name, err))
			continue
		}
		a.hooks[h.Name] = made
	}
	for _, name := range slices.Sorted(maps.Keys(a.models)) {
		if err := a.models[name].checkPrice(); err != nil {
			problems = append(problems, fmt.Errorf("model %s: %w", name, err))
		}
	}
	for _, def := range agents {
		if err := def.Limits.Check(); err != nil {
			problems = append(problems, fmt.Errorf("agent %s: %w", def.Name, err))
		}
		if err := a.checkCost(def); err != nil {
			problems = append(problems, fmt.Errorf("agent %s: %w", def.Name, err))
		}
		if err := protocol.CheckPriority(def.Priority); err != nil {
			problems = append(problems, fmt.Errorf("agent %s: %w", def.Name, err))
		}
		if def.ApprovalTimeout < 0 || def.ApprovalTimeout > 0 && def.ApprovalTimeout < time.Millisecond {
			problems = append(problems, fmt.Errorf("agent %s: ApprovalTimeout is %v: set at least 1ms, or leave it out for no limit", def.Name, def.ApprovalTimeout))
		}
		if err := def.Approval.check(); err != nil {
			problems = append(problems, fmt.Errorf("agent %s: %w", def.Name, err))
		}
		for _, name := range def.models() {
			if _, ok := a.models[name]; !ok {
				problems = append(problems, fmt.Errorf("agent %s: there is no model %q: use only these names in Model and Fallback: %v",
					def.Name, name, slices.Sorted(maps.Keys(a.models))))
			}
		}
		for _, sub := range def.Background {
			if !slices.Contains(def.Agents, sub) {
				problems = append(problems, fmt.Errorf("agent %s: %q in Background is not one of its Agents: %v", def.Name, sub, def.Agents))
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

// Registry is the part of the SDK's `worker.Worker` that [Activities.Register] needs.
type Registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers the activities with a worker. The names of the activities are constants of the package `protocol`, such
// as [protocol.CallModel].
func (a *Activities) Register(r Registry) {
	r.RegisterActivityWithOptions(a.LoadAgent, activity.RegisterOptions{Name: protocol.LoadAgent})
	r.RegisterActivityWithOptions(a.CallModel, activity.RegisterOptions{Name: protocol.CallModel})
	r.RegisterActivityWithOptions(a.CallTool, activity.RegisterOptions{Name: protocol.CallTool})
	r.RegisterActivityWithOptions(a.AwaitAgent, activity.RegisterOptions{Name: protocol.AwaitAgent})
	r.RegisterActivityWithOptions(a.ReadAgent, activity.RegisterOptions{Name: protocol.ReadAgent})
	r.RegisterActivityWithOptions(a.FindMessages, activity.RegisterOptions{Name: protocol.FindMessages})
	r.RegisterActivityWithOptions(a.LookAgent, activity.RegisterOptions{Name: protocol.LookAgent})
	r.RegisterActivityWithOptions(a.RecallCall, activity.RegisterOptions{Name: protocol.RecallCall})
	r.RegisterActivityWithOptions(a.Notify, activity.RegisterOptions{Name: protocol.Notify})
	r.RegisterActivityWithOptions(a.ReturnCalls, activity.RegisterOptions{Name: protocol.ReturnCalls})
}

// LeaseQueue returns the task queue on which this worker holds its lease: see [Activities.HoldLease]. It returns "" if the worker
// has no lease.
func (a *Activities) LeaseQueue() string {
	if a.lease == nil {
		return ""
	}
	return a.lease.queue
}
