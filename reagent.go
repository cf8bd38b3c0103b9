// Package reagent puts durable agents into Temporal workers, programs and workflows. It is the one import that most programs need.
//
// A worker gets agents by a plugin that [New] returns; a program starts them and talks to them with a [Client]; a workflow asks one with
// [Run] or [RunAs]. The examples show all three.
//
// An agent is a workflow of the type "Agent": it calls a model, runs the tools that the model asks for, and goes on until it has an answer.
// What has arrived is never paid for again and what has been done is never done again, whatever happens to the worker.
package reagent

import (
	"context"
	"encoding/json"
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
	// TaskQueue is that of the worker. Defaults to [DefaultTaskQueue].
	TaskQueue string
	// Agents are the agents that the worker serves. There must be at least one.
	Agents []Agent
	// Models are the models of the agents, by the names that the agents use.
	Models map[string]Model
	// Tools are tools in this process: see [Func].
	Tools []Tool
	// MCPServers are servers of tools. A local one that is not Stateful runs once in each worker; for a stateful one see Elsewhere. Their
	// Timeout defaults to 1 minute.
	MCPServers []mcp.Server
	// Elsewhere names the stateful MCP servers that run in other workers. This worker connects to them once, for their list of tools.
	Elsewhere []string

	// Secrets are texts of 4 bytes or more that enter no payload, such as the keys of tools. Of the keys of Models, and of the environment
	// and the headers of MCPServers, those are hidden without being named here that look random: 16 bytes or more, letters and digits.
	Secrets []string
	// KeepDir is a folder in which replies and results are kept until Temporal has them, so that a worker that is started again does not
	// ask for them again. Empty means that they are kept in memory only. The files are plain text, readable by their owner.
	KeepDir string
	// ToolTimeout limits one run of a tool. Defaults to 10 minutes.
	ToolTimeout time.Duration
	// Streamer gets the replies of models piece by piece; nil means that nobody does. [activities.Hub] is one.
	Streamer activities.Streamer
	// Converter is the data converter of the Temporal client, which does not tell it. Nil means the SDK's default.
	Converter converter.DataConverter
	// Logger defaults to [slog.Default].
	Logger *slog.Logger
}

// Agent defines one agent.
type Agent struct {
	// Name is what Start names, and other agents. Required.
	Name string
	// Description tells agents that may call this one what it is good for.
	Description string
	// Model is the name of a model of [Options]. It may be empty where there is one model only.
	Model string
	// Fallback are the models that are asked where Model cannot answer, in order.
	Fallback []string
	// Instructions are the system message, as it is sent. Empty means none.
	Instructions string
	// Tools are the tools that the agent may use: "price" for one of Options.Tools, "files.read" for one of the MCP server "files",
	// "files.*" for all of them.
	Tools []string
	// Agents are the names of the agents that it may call as sub-agents.
	Agents []string
	// KeepAgents lets sub-agents that nobody waits for any more go on when the agent has answered.
	KeepAgents bool
	// OutputSchema is a JSON schema that the agent's answers have to fit. Empty means text.
	OutputSchema json.RawMessage
	// Limits that are zero have the defaults of agents.yaml: 50 model calls and 1 hour in a turn, and others.
	Limits Limits
}

// Limits limit an agent.
type Limits = agent.Limits

// Model is a model behind an endpoint that speaks OpenAI's chat completions, or behind a [llm.Client].
type Model struct {
	// Name is the provider's name of the model, such as "gpt-4o-mini". Required.
	Name string
	// BaseURL is the address before "/chat/completions". Defaults to OpenAI's.
	BaseURL string
	// APIKey is sent as a bearer token; empty sends none.
	APIKey string
	// Headers are sent with every request.
	Headers map[string]string
	// Client asks the model instead of an endpoint. With it the other fields above, Timeout, IdleTimeout and NoStream mean nothing, but
	// Name is passed to it.
	Client llm.Client

	// Timeout limits one reply, IdleTimeout the silence within it. Zero means the defaults of package llm/openai.
	Timeout     time.Duration
	IdleTimeout time.Duration
	// NoStream asks for whole replies.
	NoStream bool
	// SendReasoning sends back what the model thought in the running turn, which some providers demand.
	SendReasoning bool
	// Params are sent with every request.
	Params llm.Params
	// Price is the price of a token. Zero means that costs are not counted.
	Price agent.Price
	// RequestsPerMinute limits the requests of all workers together, TokensPerMinute the tokens of this worker. Zero means no limit.
	RequestsPerMinute int
	TokensPerMinute   int
}

// Tool is a tool in this process. [Func] makes one of a function.
type Tool = tool.Tool

// The effects of tools: what a worker may do with a call that another worker had begun when it died.
const (
	// ReadOnly tools change nothing and run again freely.
	ReadOnly = tool.ReadOnly
	// Idempotent tools run again with the same key, by which the far side does the thing once.
	Idempotent = tool.Idempotent
	// AtMostOnce tools do not run again: the model reads that the outcome is unknown.
	AtMostOnce = tool.AtMostOnce
)

// Func makes a tool of a function, as [tool.Func] does. A mistake, such as arguments that are no struct, is an error of [New].
func Func[In, Out any](name, description string, effect tool.Effect, fn func(context.Context, In) (Out, error)) Tool {
	made, err := tool.Func(name, description, effect, fn)
	if err != nil {
		return invalidTool{err: err}
	}
	return made
}

// invalidTool stands for a tool that could not be made.
type invalidTool struct {
	Tool
	err error
}
