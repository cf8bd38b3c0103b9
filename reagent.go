// Package reagent runs durable AI agents on Temporal. Most programs need no other package of this module.
//
// [New] returns a plugin that adds agents to a worker. A [Client] starts agents and sends messages to them. [Run] and [RunAs]
// run an agent from a workflow. The folder examples has a program for each of them.
//
// An agent is a workflow of the type "Agent". It calls a model, runs the tools that the model asks for, and repeats this until
// the model answers. A reply that has been recorded is never paid for again, and a tool call that has been recorded never runs
// again, even if the worker crashes.
package reagent

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/openai"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// Options describe the agents of a worker, and the models and tools of these agents. Pass them to [New]. Agents and their models are
// required. Every other field that is zero selects its default, or nothing.
type Options struct {
	// TaskQueue is the task queue of the worker. Defaults to [DefaultTaskQueue].
	TaskQueue string
	// Agents defines the agents. At least one is required, unless Lookup is set.
	Agents []Agent
	// Lookup returns agents that are made at run time, such as one for each customer. It is called for a name that is not in Agents. If it
	// returns false and Agents is empty, or if its error wraps [ErrNoAgent], the start of the agent fails at once. After false beside Agents,
	// it is tried again for RolloutTimeout, and after any other error for 5 minutes. See [activities.Options].Lookup. Nil means that there
	// are no such agents.
	Lookup func(ctx context.Context, name string) (found Agent, ok bool, err error)
	// Models holds the models. The key of an entry is the name by which agents refer to the model.
	Models map[string]Model
	// Tools are the tools that run in this process: see [Func].
	Tools []Tool
	// MCPServers are the MCP servers whose tools the agents can use. Each worker starts its own process of a local server,
	// except for the servers in [Options.Elsewhere]. If the Timeout of a server is zero, it is set to 1 minute.
	MCPServers []mcp.Server
	// Elsewhere lists the names of the stateful MCP servers that run in another worker. This worker starts each of them once
	// to list its tools, and then stops it.
	Elsewhere []string
	// Notify are the hooks that are notified when an agent waits for somebody outside, is held, or ends: see [OnWaits]. Temporal Cloud
	// bills each notification as one action.
	Notify []Hook
	// Callbacks adds to the notifications the URLs to which the far side sends the results of external calls. Package
	// [github.com/reagent-dev/reagent/callback] has the handler for the requests. Nil means that there are no such URLs.
	Callbacks *Callbacks
	// Commands makes the commands that the Web UI and the notifications show to a person: see [protocol.Commands]. Nil means the commands
	// of the program starter.
	Commands protocol.Commands

	// CallerTokens exchanges the reference of a caller for a token, with which tools act for the caller: see docs/tokens.md. MCP servers with
	// [mcp.Server].CallerToken and Go tools that call [tool.CallerToken] use it. No history, log or span has a token. Nil means that no tool
	// acts for callers.
	CallerTokens tool.TokenSource

	// Development is for a worker on which somebody tries out prompts and models. [agent.Overrides] may then choose every model and reasoning
	// effort, and replace the instructions of an agent.
	Development bool

	// Secrets are texts that must not enter a payload, the log or the error of [New]. An example is the API key of a tool.
	// Texts of fewer than 4 bytes are ignored. Some values need no entry here: the keys and headers of [Options.Models], the
	// environment, headers and URL queries of [Options.MCPServers], the secrets, headers, environment and parts of the URLs of
	// [Options.Notify], and the secrets of [Options.Callbacks]. The plugin hides them itself: the signing secrets of hooks and
	// callbacks always, and any other value if it has at least 16 bytes with letters and digits.
	Secrets []string
	// ResultsDir is a folder for model replies and tool results that Temporal does not have yet. After a restart, the worker
	// reports them to Temporal and does not repeat the calls. Empty means that the worker keeps them in memory only. The
	// files are encoded with the codecs of the client's [ClientPlugin], or with the keys of the environment (see [ClientOptions]), else plain text.
	// Only their owner can read them.
	ResultsDir string
	// ToolTimeout limits the time of one attempt at a tool call. Defaults to 10 minutes.
	ToolTimeout time.Duration
	// RolloutTimeout is how long an agent, or a tool of a call, that this worker does not have is looked for on other workers: while a new
	// configuration is rolled out worker by worker, another one may have it. Then the agent fails, or the model is told that the tool was not
	// run. A call whose tool may have run already is retried without this limit. Defaults to 5 minutes; negative means that a worker does not
	// wait for others.
	RolloutTimeout time.Duration
	// HeartbeatTimeout is the heartbeat timeout of model calls and tool calls. If Temporal gets no heartbeat of a call for this time,
	// it gives the call to another worker. A call sends two heartbeats in this time, which Temporal Cloud bills. The minimum is 1 second.
	//
	// Defaults to 30 seconds if the namespace has worker heartbeats, which are not billed: then the other workers of the task queue see after
	// about 2.5 seconds that a worker is lost, and return its calls to Temporal. Otherwise it defaults to 3 seconds.
	HeartbeatTimeout time.Duration
	// Streamer receives the replies of models chunk by chunk. Nil means no streaming. [Hub] is an implementation.
	Streamer Streamer
	// Converter must be the data converter of the Temporal client. Nil means that of the client's [ClientPlugin], or the SDK's default. A
	// worker whose Converter cannot decode what the ClientPlugin encodes does not start.
	Converter converter.DataConverter
	// TracerProvider makes the spans of turns, model calls and tool calls, by OpenTelemetry's conventions for generative AI: see
	// docs/telemetry.md. Nil means OpenTelemetry's global one, which makes none unless the program has set it. Give the SDK's provider [SpanIDs],
	// so that the spans of a turn are below that of the turn.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics of turns, model calls and tool calls, and those about all agents of the namespace: see docs/telemetry.md. Nil
	// means OpenTelemetry's global one. Temporal's own metrics come from the MetricsHandler of the Temporal client.
	MeterProvider metric.MeterProvider
	// TraceContent adds what people, models and tools say to the spans, without the secrets of the models.
	TraceContent bool
	// NoUIContent keeps what people, models and tools say out of the texts that Temporal shows in lists and in the Web UI: summaries, details
	// and memos. Names, states and numbers stay. A program that starts agents writes such texts, too: see [Client.WithoutUIContent] and
	// [Task].NoUIContent.
	NoUIContent bool
	// Logger receives the log entries of the plugin. Nil means [slog.Default]. The plugin hides the secrets in each entry. Entries about an agent
	// have the fields agent, key, run and trace, and from the level Info on nothing that people, models or tools say.
	Logger *slog.Logger
}

// Agent defines one agent: its model, instructions, tools, sub-agents and limits.
type Agent = activities.Agent

// Choices are what a program that starts an agent may choose, besides the agent's own models.
type Choices = activities.Choices

// ErrNoAgent is the error of [Options.Lookup] for a name that no worker has.
var ErrNoAgent = activities.ErrNoAgent

// AgentError says what is wrong with an agent that a worker cannot define: see [New].
type AgentError = activities.AgentError

// ApprovalPolicy says which calls of an agent need a person's approval: see [activities.ApprovalPolicy].
type ApprovalPolicy = activities.ApprovalPolicy

// ApprovalRule is a rule of an [ApprovalPolicy].
type ApprovalRule = activities.ApprovalRule

// These are the rules of an [ApprovalPolicy].
const (
	// ApprovalNever means that no call needs an approval.
	ApprovalNever = activities.ApprovalNever
	// ApprovalAlways means that each call needs an approval.
	ApprovalAlways = activities.ApprovalAlways
	// ApprovalDestructive means that each call needs an approval, except for calls of tools that are not destructive.
	ApprovalDestructive = activities.ApprovalDestructive
	// ApprovalFunction means that NeedsApproval of the [Agent] decides about each call.
	ApprovalFunction = activities.ApprovalFunction
)

// ApprovalIf returns a rule for calls whose arguments fulfil a condition, such as "args.amount > 50": see [activities.ApprovalIf].
func ApprovalIf(condition string) ApprovalRule { return activities.ApprovalIf(condition) }

// Guardrails judge what enters an agent and what leaves it: see [activities.Agent].
type Guardrails = agent.Guardrails

// Hook receives notifications of agents: see [activities.Hook].
type Hook = activities.Hook

// Callbacks lets the results of external calls come by HTTP: see [activities.Callbacks].
type Callbacks = activities.Callbacks

// These are the occasions of notifications, for [Hook].On.
const (
	// OnWaits means that a call has begun to wait for a person or a program.
	OnWaits = agent.OnWaits
	// OnHeld means that an error has stopped the turn of a chat, which waits for a person. An interrupt does not count.
	OnHeld = agent.OnHeld
	// OnEnded means that an agent that is no sub-agent has ended.
	OnEnded = agent.OnEnded
)

// Limits are the limits of an agent, such as the number of its model calls, its tokens, and the time for one message: see
// [agent.Limits].
type Limits = agent.Limits

// Money is an amount of money, in 10⁻¹² US dollars: see [Dollars].
type Money = agent.Money

// Price has the prices of one token of a model. For example, Dollars(0.15)/1_000_000 is a price of 0.15 dollars per million tokens.
type Price = agent.Price

// Dollars returns an amount of US dollars, for [Limits].Cost and [Price].
func Dollars(amount float64) Money { return agent.Dollars(amount) }

// Reasoning says how the reasoning of assistant messages is sent back to a model: see [openai.Reasoning].
type Reasoning = openai.Reasoning

// PromptCache says for how long Anthropic keeps the prompts of a model in its cache: see [anthropic.PromptCache].
type PromptCache = anthropic.PromptCache

// Model describes a model that agents can use. Requests go to an endpoint with one of OpenAI's APIs or with Anthropic's Messages API,
// or to [Model.Client].
type Model struct {
	// Name is the provider's name of the model, such as "gpt-4o-mini". Required.
	Name string
	// Provider is "openai", which means any OpenAI-compatible endpoint, or "anthropic". Empty means "openai".
	Provider string
	// Platform is where a model of the provider "anthropic" runs: [anthropic.Vertex] or [anthropic.Bedrock]. Empty means an endpoint with
	// Anthropic's API.
	Platform anthropic.Platform
	// API is the API of the provider "openai": "chat", "responses" or "auto", which is the default. With "auto", a client uses chat
	// completions, except for models that OpenAI serves only through the Responses API.
	API string
	// BaseURL is the URL of the endpoint up to, and without, "/chat/completions", "/responses" or "/v1/messages". Defaults to the URL of
	// the provider. With a Platform, it has no default: see [anthropic.Options].
	BaseURL string
	// APIKey is the key for the endpoint. Empty means that no key is sent.
	APIKey string
	// Headers are the additional HTTP headers of every request.
	Headers map[string]string
	// Query is added to the query of the URL of every request, such as "api-version".
	Query map[string]string
	// Credential returns the credential for each request, for keys that change: see [llm.CredentialSource]. What it returns counts more
	// than APIKey, Headers and Query. The plugin hides it in payloads and logs. Nil means that these do not change.
	Credential llm.CredentialSource
	// TLS has the settings of TLS connections to the endpoint, for example with a client certificate. Nil means the defaults of package tls.
	TLS *tls.Config
	// Client calls the model. If Client is set, the fields about the endpoint are ignored: Provider, Platform, API, BaseURL, APIKey,
	// Headers, Query, Timeout, IdleTimeout, NoStream and PromptCache.
	Client llm.Client

	// Timeout limits the time to the first text, reasoning or tool call of a streamed reply, and from one to the next. For a reply that
	// is not streamed, it limits the whole time. Defaults to 10 minutes.
	Timeout time.Duration
	// IdleTimeout is the longest time for which an endpoint may send nothing at all within a streamed reply, after its first text,
	// reasoning or tool call. Defaults to 2 minutes.
	IdleTimeout time.Duration
	// RetryFor is how long a model call is tried again while the endpoint does not answer, is overloaded or limits the rate, for agents whose
	// Model this is. After that, the turn is held. The pause between two attempts grows to a minute. It is at most 24 hours, and less than
	// the Time in the [Limits] of these agents, because that ends the turn. Zero means 8 attempts, which take about two minutes. A running
	// agent gets a new value when its worker restarts.
	RetryFor time.Duration
	// NoStream turns off streaming: the endpoint then sends each reply as a whole.
	NoStream bool
	// PromptCache sets the prompt cache of the provider "anthropic": "1h" for one hour, "off" for none. Empty means 5 minutes. Other
	// providers cache prompts by themselves, so it must be empty for them.
	PromptCache PromptCache
	// Reasoning says how the reasoning of earlier replies is sent back to the model. The zero value depends on the provider and the
	// model. With [Model.Client], reasoning is part of the requests only if Reasoning.Send is "turn" or "always".
	Reasoning Reasoning
	// Params are the parameters of every request, such as the temperature.
	Params llm.Params
	// Price has the prices of the model's tokens. Zero means that costs are not counted.
	Price Price
	// RequestsPerMinute limits the requests of all workers together. Zero means no limit.
	RequestsPerMinute int
	// TokensPerMinute limits the tokens of this worker. Zero means no limit.
	TokensPerMinute int
}

// Tool is a tool that runs in this process. [Func] makes a tool of a Go function.
type Tool = tool.Tool

// These are the possible effects of a tool. The effect says whether a call of the tool runs again if the worker crashed
// during the call.
const (
	// ReadOnly tools change nothing. After a crash of the worker, the call runs again.
	ReadOnly = tool.ReadOnly
	// Idempotent tools may be called twice with the same idempotency key: see [tool.Info]. After a crash of the worker, the
	// call runs again with the same key.
	Idempotent = tool.Idempotent
	// AtMostOnce tools must not be called twice. After a crash of the worker, the call does not run again. The model is told
	// that the outcome of the call is unknown.
	AtMostOnce = tool.AtMostOnce
)

// Func makes a tool of a Go function: see [tool.Func]. Func itself does not fail. If the function cannot be a tool, [New]
// returns the error.
func Func[In, Out any](name, description string, effect tool.Effect, fn func(context.Context, In) (Out, error)) Tool {
	made, err := tool.Func(name, description, effect, fn)
	if err != nil {
		return invalidTool{err: err}
	}
	return made
}

// Guardrail makes a tool for [Options.Tools] from a function that judges texts: see [tool.Guardrail]. Name it in the Guardrails of an
// [Agent]. If the name is not valid, the error comes from [New].
func Guardrail(name, description string, judge func(context.Context, tool.JudgedText) (tool.Verdict, error)) Tool {
	made, err := tool.Guardrail(name, description, judge)
	if err != nil {
		return invalidTool{err: err}
	}
	return made
}

// invalidTool is what [Func] and [Guardrail] return for a function that cannot be a tool. It carries the error to [New].
type invalidTool struct {
	Tool
	err error
}

// Invalid returns the error. Package reagenttest knows an invalid tool by this method.
func (t invalidTool) Invalid() error { return t.err }
