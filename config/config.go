// Package config reads agents.yaml: the models, the MCP servers and the agents
// that a worker serves. Decoding is strict, and every problem of a file is
// reported at once, each with its line and field, so that one run of an editor
// mends them all.
//
// A [Config] never holds a key: it names environment variables, which the
// worker reads when it needs them ([Model.APIKey], [MCPServer.ResolveHeaders]).
package config

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
)

// MaxFileSize is the size limit of a configuration file, in bytes.
const MaxFileSize = 1 << 20

// BaseURLEnv is the environment variable that names the endpoint of the models whose base_url the file leaves out.
const BaseURLEnv = "OPENAI_BASE_URL"

// The defaults of fields that a file leaves out.
const (
	DefaultTaskQueue    = "agents"
	DefaultBaseURL      = "https://api.openai.com/v1"
	DefaultAPIKeyEnv    = "OPENAI_API_KEY" //nolint:gosec // the name of a variable, not a key
	DefaultModelTimeout = 2 * time.Minute
	DefaultMCPTimeout   = time.Minute
)

// Config is a validated configuration with its defaults filled in. It is not
// modified after it was read, so it is safe for concurrent use.
type Config struct {
	// TaskQueue is the Temporal task queue of the agents. Defaults to
	// [DefaultTaskQueue].
	TaskQueue string
	// Models, by the name that agents use.
	Models map[string]Model
	// MCPServers, by the name that comes before the dot in an agent's tools;
	// mcp_servers in the file.
	MCPServers map[string]MCPServer
	// Agents, by name. There is at least one.
	Agents map[string]Agent
	// Tools configures the built-in tools; builtin in the file.
	Tools Tools

	source source
}

// Model is one model endpoint.
type Model struct {
	// Provider is "openai", for every OpenAI-compatible endpoint. Defaults to
	// "openai", the only one there is.
	Provider string
	// Model is the provider's name for the model.
	Model string
	// BaseURL is the endpoint up to and without /chat/completions. Defaults to that of the environment variable
	// [BaseURLEnv], else to [DefaultBaseURL].
	BaseURL string
	// APIKeyEnv names the environment variable that holds the key. Empty means
	// that no key is sent, as local endpoints like it; it defaults to
	// [DefaultAPIKeyEnv] where BaseURL is left out too, and that variable is set or the endpoint is DefaultBaseURL.
	APIKeyEnv string
	// APIKeyFile names a file that holds the key, instead of a variable; api_key_file in the file, where it is
	// relative to the file's own folder.
	APIKeyFile string
	// Timeout is for one request to the model. Defaults to
	// [DefaultModelTimeout].
	Timeout time.Duration
	// IdleTimeout is for the silence between two pieces of a reply; idle_timeout in the file. Zero means
	// the client's default.
	IdleTimeout time.Duration
	// NoStream asks for whole replies; stream: false in the file.
	NoStream bool
	// SendReasoning sends back what the model thought in the running turn, which some demand;
	// send_reasoning in the file.
	SendReasoning bool
	// Price is the price of a token; the file gives it in US dollars for a million tokens.
	Price agent.Price
	// RequestsPerMinute and TokensPerMinute bound what the model is asked; rate in the file. The first holds
	// over all workers, the second for each by itself. Zero means no bound.
	RequestsPerMinute int
	TokensPerMinute   int
	// Params are sent with every request. They stand beside the other fields in
	// the file; extra is passed through with its digits as written.
	Params llm.Params
}

// MCPServer is a server of tools: either a command that speaks over stdio, or a
// URL that speaks streamable HTTP.
type MCPServer struct {
	// Command is the program and its arguments; nil when URL is set.
	Command []string
	// Env is added to the worker's environment for Command. Values may refer to
	// the worker's variables as ${NAME}; see [MCPServer.ResolveEnv].
	Env map[string]string

	// URL is the endpoint; empty when Command is set.
	URL string
	// Headers are sent with every request to URL. Values may refer to the
	// worker's variables as ${NAME}; see [MCPServer.ResolveHeaders].
	Headers map[string]string

	// Prefix is put before the name of every tool that Rename does not name.
	Prefix string
	// Rename gives single tools another name: the server's name to the name
	// that models see.
	Rename map[string]string

	// Stateful says that the process of Command remembers things between calls,
	// so that all calls must reach the one process that one worker runs.
	Stateful bool
	// Timeout is for one call. Defaults to [DefaultMCPTimeout].
	Timeout time.Duration
}

// Agent is one agent. Its name matches [A-Za-z0-9_-]{1,64}, because a parent
// offers it to a model as a tool.
type Agent struct {
	// Description tells a parent agent's model what the agent is for.
	Description string
	// Model names an entry of [Config.Models].
	Model string
	// Fallback names models that are asked, in order, where Model cannot answer.
	Fallback []string
	// OutputSchema is a JSON schema that the answers have to fit; output_schema in the file. Empty means text.
	OutputSchema json.RawMessage
	// Instructions are the system message, verbatim. Empty means that there is
	// none.
	Instructions string
	// Tools name built-in or Go tools, tools of an MCP server as server.tool
	// with the server's own name for the tool, or all of its tools as server.*;
	// see [SplitTool]. Whether a tool exists is found out by the worker.
	Tools []string
	// Agents are the sub-agents, each offered to the model as a tool.
	Agents []string
	// KeepAgents lets sub-agents go on that nobody waits for any more when the agent has answered;
	// keep_agents in the file. Else they are cancelled.
	KeepAgents bool
	// Limits have their defaults: see [agent.Limits.WithDefaults].
	Limits agent.Limits
}

// Models are the models that may answer, in order.
func (a Agent) Models() []string { return append([]string{a.Model}, a.Fallback...) }

// Tools configures the built-in tools.
type Tools struct {
	// Root is the folder below which the file tools work; files_root in the
	// file, where it is relative to the file's own folder. Defaults to that
	// folder.
	Root string
	// HTTPAllowPrivate lets http_get reach private and loopback addresses.
	HTTPAllowPrivate bool
}

// Load reads and validates the file at path. An error about its content is an
// [*Error].
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	// One byte more than is allowed tells a file that is too large from one
	// that just fits, without reading all of the former.
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, data)
}
