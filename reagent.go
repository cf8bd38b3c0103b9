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
	"log/slog"
	"time"

	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// Options describe the agents of a worker.
type Options struct {
	// TaskQueue is the task queue of the worker. Defaults to [DefaultTaskQueue].
	TaskQueue string
	// Agents defines the agents. At least one is required.
	Agents []Agent
	// Models holds the models by the names that agents use.
	Models map[string]Model
	// Tools are the tools that run in this process: see [Func].
	Tools []Tool
	// MCPServers are the MCP servers whose tools the agents can use. Each worker starts a local server of its own, except for
	// the servers in Elsewhere. The Timeout of a server defaults to 1 minute.
	MCPServers []mcp.Server
	// Elsewhere names the stateful MCP servers that run in another worker. This worker starts each of them once to list its
	// tools, and then stops it.
	Elsewhere []string

	// Secrets are texts of at least 4 bytes that must not enter a payload, the log or the error of [New], such as the API keys of
	// tools. The plugin also hides
	// the keys and headers of Models, and the environment, headers and URL queries of MCPServers, if they have at least 16 bytes
	// with letters and digits. These need no entry in Secrets.
	Secrets []string
	// KeepDir is a folder for replies and results that Temporal does not have yet. After a restart, the worker reports them to
	// Temporal and does not call the model or the tool again. Empty means that the worker keeps them in memory only. The files
	// are plain text, and only their owner can read them.
	KeepDir string
	// ToolTimeout limits the time of one attempt at a tool call. Defaults to 10 minutes.
	ToolTimeout time.Duration
	// Streamer receives the replies of models chunk by chunk. Nil means no streaming. [activities.Hub] is an implementation.
	Streamer activities.Streamer
	// Converter must be the data converter of the Temporal client. Nil means the SDK's default.
	Converter converter.DataConverter
	// Logger defaults to [slog.Default]. The plugin hides the secrets in each record. A value that contains one becomes a text.
	Logger *slog.Logger
}

// Agent defines one agent: its model, instructions, tools, sub-agents and limits.
type Agent = activities.Agent

// Limits are the limits of an agent, for example on its model calls, its tokens, and the time for one message. See
// [agent.Limits].
type Limits = agent.Limits

// Model is a model at an endpoint with OpenAI's chat completions API, or a model that an [llm.Client] calls.
type Model struct {
	// Name is the provider's name of the model, such as "gpt-4o-mini". Required.
	Name string
	// BaseURL is the URL of the endpoint up to, and without, "/chat/completions". Defaults to the URL of OpenAI.
	BaseURL string
	// APIKey is sent as a bearer token; empty sends none.
	APIKey string
	// Headers are sent with every request.
	Headers map[string]string
	// Client calls the model. If it is set, BaseURL, APIKey, Headers, Timeout, IdleTimeout and NoStream are ignored.
	Client llm.Client

	// Timeout limits the time of one reply. IdleTimeout limits the time between two chunks of a reply. Zero means the defaults
	// of package llm/openai.
	Timeout     time.Duration
	IdleTimeout time.Duration
	// NoStream turns off streaming.
	NoStream bool
	// SendReasoning sends the reasoning in the model's replies back to the model, while the agent works on the same message.
	// Some providers require this.
	SendReasoning bool
	// Params are sent with every request.
	Params llm.Params
	// Price is the price of one token. Zero means that costs are not counted.
	Price agent.Price
	// RequestsPerMinute limits the requests of all workers together. TokensPerMinute limits the tokens of this worker. Zero
	// means no limit.
	RequestsPerMinute int
	TokensPerMinute   int
}

// Tool is a tool that runs in this process. [Func] makes a tool of a Go function.
type Tool = tool.Tool

// The effects of tools. The effect of a tool decides whether a call of the tool runs again after its worker has crashed.
const (
	// ReadOnly tools change nothing. After a crash of the worker, the call runs again.
	ReadOnly = tool.ReadOnly
	// Idempotent tools may be called twice with the same key: see [tool.Info]. After a crash of the worker, the call runs again.
	Idempotent = tool.Idempotent
	// AtMostOnce tools must not be called twice. After a crash of the worker, the call does not run again, and the model is told
	// that its outcome is unknown.
	AtMostOnce = tool.AtMostOnce
)

// Func makes a tool of a Go function: see [tool.Func]. If the function cannot be a tool, [New] returns the error.
func Func[In, Out any](name, description string, effect tool.Effect, fn func(context.Context, In) (Out, error)) Tool {
	made, err := tool.Func(name, description, effect, fn)
	if err != nil {
		return invalidTool{err: err}
	}
	return made
}

// invalidTool is the tool that [Func] returns for a function that cannot be a tool. It carries the error of [tool.Func] to
// [New], because Func itself returns no error.
type invalidTool struct {
	Tool
	err error
}
