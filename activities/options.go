package activities

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/presence"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
)

// Agent is the configuration of one agent. [Activities.LoadAgent] turns this configuration into the agent's definition.
type Agent struct {
	// Name is the name by which clients and other agents start the agent. Required.
	Name string
	// Description says what the agent can do. It is sent to the models of the agents that may call this agent.
	Description string
	// Model is the name of the agent's model in `Options.Models`. It may be empty if there is only one model.
	Model string
	// Fallback names further models in `Options.Models`. They are called in this order if a call of the agent's model fails.
	Fallback []string
	// Choices are what a program that starts the agent may choose besides: see [agent.Overrides]. The zero value allows a choice among Model
	// and Fallback.
	Choices Choices
	// Instructions are sent unchanged as the system message. Empty means no system message.
	Instructions string
	// Tools names the tools that the agent may use: "price" is a tool of the worker, "files.read" is a tool of the MCP server
	// "files", and "files.*" means all tools of that MCP server.
	Tools []string
	// Agents names the agents that this agent may call as sub-agents.
	Agents []string
	// Background names those of Agents that work in the background: a call returns at once, and the answer comes later as a message.
	// The agent then also has the tool "agents", which lists them, stops them and sends them messages.
	Background []string
	// KeepAgents says that sub-agents that are still running when the agent completes keep running, for example because the agent
	// stopped waiting for them. If KeepAgents is false, the agent cancels them. An agent that fails or is cancelled always
	// cancels its running sub-agents.
	KeepAgents bool
	// Priority is the Temporal priority of the agent's model calls and tool calls: 1 (highest) to 5 (lowest). Zero means the
	// priority with which the agent was started. For a sub-agent, Priority is the priority of all its work, but never higher than
	// that of its parent.
	Priority int
	// Approval says which calls of tools and sub-agents need a person's approval. Nil means that only calls of tools with
	// [tool.Spec.NeedsApproval] need one.
	Approval ApprovalPolicy
	// NeedsApproval decides about the calls for which Approval has the rule [ApprovalFunction]. It must return the same for the same call,
	// and soon. It may be called by several goroutines.
	NeedsApproval NeedsApproval
	// ApprovalTimeout is how long a call waits for a person's decision: at least 1ms. After this time, the call is denied. Zero means no
	// limit.
	ApprovalTimeout time.Duration
	// Guardrails judge the messages before the model gets them, and the answers before anybody gets them. They name tools of the worker that
	// [tool.Guardrail] has made, or tools of MCP servers, as Tools does.
	Guardrails agent.Guardrails
	// OutputSchema is the JSON schema that the agent's answers must match. Empty means that an answer is text.
	OutputSchema json.RawMessage
	// Limits holds the agent's limits. A field that is zero gets its default: see [agent.Limits.WithDefaults].
	Limits agent.Limits
}

// Choices are the values of [agent.Overrides] that an agent allows.
type Choices struct {
	// Models names further models in `Options.Models`.
	Models []string
	// ReasoningEfforts are the values of [llm.Params].ReasoningEffort.
	ReasoningEfforts []string
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
	// Params are the parameters of the requests to this model.
	Params llm.Params
	// Price is the price of one token. The zero Price means that the model is free or that its price is unknown.
	Price agent.Price
	// SendReasoning says that later requests include the reasoning of earlier replies, for the clients that send it. It applies to
	// agents that name this model in `Agent.Model` or `Agent.Fallback`.
	SendReasoning bool
	// TaskQueue is the task queue for the model calls of agents that name this model in `Agent.Model`. Empty means the agent's
	// own task queue. Temporal can limit the rate of a task queue for all its workers together. To use this, set
	// `TaskQueueActivitiesPerSecond` in the `worker.Options` of these workers.
	TaskQueue string
	// RetryFor is how long a call is tried again in an outage (see [llm.Class.Outage]), if an agent names this model in `Agent.Model`. The
	// time begins with the first failure. It is at most [protocol.MaxRetryFor]. Zero means 8 attempts, in about two minutes.
	RetryFor time.Duration
	// TokensPerMinute limits the input and output tokens of this worker's calls of the model. Each worker counts only its own
	// calls, because Temporal can limit tasks but not tokens. Zero means no limit.
	TokensPerMinute int
}

// Options describe a worker: its agents, models and tools, and its settings. Only Temporal is required. The options must not be modified
// after the call of [New].
type Options struct {
	// Temporal is the client with which activities query their own workflow, send heartbeats and read histories. Required.
	Temporal client.Client
	// Agents holds the agents that the worker serves.
	Agents []Agent
	// Lookup returns agents that are made at run time, such as one for each customer. A worker calls it for a name that is not in Agents, when
	// an agent starts, is reloaded, or gets a message with overrides, and within 30 seconds. Nil means that there are no such agents.
	//
	// The agent keeps what Lookup has returned, as it keeps its configuration. The agent must be right on its own: its models, tools and
	// sub-agents are those of these options, and it has no NeedsApproval. A mistake in it is an [*AgentError], with which the agent fails.
	// The name comes from whoever starts the agent, so check it like any input. Lookup may be called by several goroutines.
	//
	// If there is no agent with the name, Lookup returns false, or an error that wraps [ErrNoAgent]:
	//   - false: this worker has no such agent. The start fails at once if Agents is empty. Otherwise another build of the worker may have
	//     the agent in its Agents, so the start is tried again for RolloutTimeout, and then fails.
	//   - [ErrNoAgent]: no worker has such an agent. The start fails at once.
	//
	// An agent whose start fails has the class `client.UnknownAgent`. Any other error is temporary, such as a database that does not answer:
	// Lookup is called again for 5 minutes.
	Lookup Lookup
	// Models holds the models that the worker can call. Agents use the keys of the map as names of the models.
	Models map[string]Model
	// Tools holds the tools. It may be nil if no agent has tools. [New] copies the registry. Tools that are added later are
	// not available.
	Tools *tool.Registry
	// CallerTokens exchanges the reference of a caller ([agent.CallerReference] in the metadata) for a token with which tools act for the
	// caller. Nil means that no tool does. The tokens are kept in memory until they expire, and hidden in what the tool returns.
	CallerTokens tool.TokenSource
	// Notify holds the hooks to which the agents of this worker send notifications.
	Notify []Hook
	// Callbacks adds the URLs for the results of external calls to the notifications. Nil means that there are no such URLs.
	Callbacks *Callbacks
	// Commands makes the commands in the notifications. Nil means [protocol.NoCommands].
	Commands protocol.Commands
	// Development lets [agent.Overrides] choose every model and reasoning effort, and replace the instructions of an agent.
	Development bool
	// ToolTimeout limits the time of one attempt at a tool call. Defaults to 10 minutes.
	ToolTimeout time.Duration
	// RolloutTimeout is how long Temporal retries [Activities.LoadAgent] for an agent that this worker does not serve, and
	// [Activities.CallTool] for a tool that this worker does not have. During the rollout of a new configuration, another worker
	// may have it. A call whose tool may already have run is retried without this limit. Defaults to 5 minutes; negative means that
	// nothing is retried.
	RolloutTimeout time.Duration
	// CacheBytes limits the memory for transcripts, earlier runs and results, in bytes. Defaults to 256 MiB.
	CacheBytes int
	// ResultsDir is a folder for replies of models and results of tools. The worker writes each of them to this folder when it
	// arrives. If the worker crashes before Temporal has a result, it reports the stored result after the restart. Empty means
	// that results are kept in memory only.
	//
	// The files have at most about 256 MiB together, and are used for 7 days. Only their owner can read them. They are encoded
	// as payloads are if the Converter encodes in this process (see the package dial), else plain text.
	ResultsDir string
	// Presence shows other workers that this one lives. Nil means that only the heartbeats of its calls do.
	Presence *presence.Presence
	// Streamer receives each chunk of a reply when it arrives. Nil means that chunks are not passed on.
	Streamer Streamer
	// Converter decodes memos and histories. It must be the data converter of the Temporal client, with the client's codecs.
	// Defaults to the SDK's data converter.
	Converter converter.DataConverter
	// TracerProvider makes the spans of model calls, tool calls and checks. Nil means OpenTelemetry's global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics of model calls and tool calls. Nil means OpenTelemetry's global one.
	MeterProvider metric.MeterProvider
	// TraceContent adds what people, models and tools say to the spans.
	TraceContent bool
	// Redact returns a text without its secrets. The worker applies it to the texts and errors of models and tools before
	// these enter a payload. Redact must be safe for concurrent use. Nil means that texts are not changed.
	Redact func(string) string
	// Log receives the log entries of the activities. They have the fields agent, key, run and, if there is one, trace. From the level Info on,
	// they have nothing that people, models or tools say. Defaults to [slog.Default].
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	o.ToolTimeout = cmp.Or(o.ToolTimeout, 10*time.Minute)
	o.RolloutTimeout = cmp.Or(o.RolloutTimeout, 5*time.Minute)
	o.CacheBytes = cmp.Or(o.CacheBytes, 256<<20)
	o.Log = slog.New(logs.Handler(cmp.Or(o.Log, slog.Default()).Handler()))
	o.Tools = cmp.Or(o.Tools, new(tool.Registry))
	if o.Converter == nil {
		o.Converter = converter.GetDefaultDataConverter()
	}
	if o.Commands == nil {
		o.Commands = protocol.NoCommands{}
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	o.Agents = slices.Clone(o.Agents)
	for i := range o.Agents {
		o.Agents[i] = withDefaultModel(o.Agents[i], o.Models)
	}
	return o
}

// withDefaultModel returns the agent with the only model, if there is only one.
func withDefaultModel(conf Agent, models map[string]Model) Agent {
	if len(models) == 1 {
		conf.Model = cmp.Or(conf.Model, slices.Collect(maps.Keys(models))[0])
	}
	return conf
}
