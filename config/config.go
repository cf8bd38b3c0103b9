// Package config reads agents.yaml: the models, the MCP servers and the agents that a worker serves. A key that is not known is an error. All
// problems of a file are reported at once, each with its line and field.
//
// A [Config] does not hold the keys of models. It names environment variables or files, which the worker reads when it needs a key: see
// [Model.APIKey]. Values for MCP servers may refer to environment variables: see [MCPServer.ResolveHeaders].
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

// BaseURLEnv is the environment variable with the endpoint of all models that have no base_url in the file.
const BaseURLEnv = "OPENAI_BASE_URL"

// The defaults of fields that are not in the file.
const (
	DefaultTaskQueue    = "agents"
	DefaultBaseURL      = "https://api.openai.com/v1"
	DefaultAPIKeyEnv    = "OPENAI_API_KEY" //nolint:gosec // the name of a variable, not a key
	DefaultModelTimeout = 2 * time.Minute
	DefaultMCPTimeout   = time.Minute
)

// Config is a valid configuration with all defaults set. Nothing modifies it after [Load] or [Parse], so it is safe for concurrent use.
type Config struct {
	// TaskQueue is the Temporal task queue of the agents. Defaults to [DefaultTaskQueue].
	TaskQueue string
	// Models holds the models by the names that agents use.
	Models map[string]Model
	// MCPServers holds the MCP servers by the names that stand before the dot in [Agent.Tools]. The file calls it mcp_servers.
	MCPServers map[string]MCPServer
	// Agents holds the agents by name. There is at least one.
	Agents map[string]Agent
	// Tools configures the built-in tools. The file calls it builtin.
	Tools Tools

	source source
}

// Model is one model endpoint.
type Model struct {
	// Provider is always "openai", for every OpenAI-compatible endpoint. Defaults to "openai".
	Provider string
	// Model is the provider's name for the model.
	Model string
	// BaseURL is the address before "/chat/completions". Defaults to the value of the environment variable [BaseURLEnv], or else to
	// [DefaultBaseURL].
	BaseURL string
	// APIKeyEnv names the environment variable that holds the key. If APIKeyEnv and APIKeyFile are empty, no key is sent; most local
	// endpoints need none. If the file has no base_url and names no key, APIKeyEnv defaults to [DefaultAPIKeyEnv]. But if [BaseURLEnv] sets
	// the endpoint, the default requires that the variable DefaultAPIKeyEnv has a value.
	APIKeyEnv string
	// APIKeyFile is the path of a file that holds the key. It replaces APIKeyEnv. The path in api_key_file is relative to the folder of the
	// configuration file.
	APIKeyFile string
	// Timeout limits one request to the model. Defaults to [DefaultModelTimeout].
	Timeout time.Duration
	// IdleTimeout limits the time between two chunks of a reply. Zero means the default of package llm/openai.
	IdleTimeout time.Duration
	// NoStream turns off streaming. The file says stream: false.
	NoStream bool
	// SendReasoning sends the model's reasoning of the running turn back to it. Some providers require this.
	SendReasoning bool
	// Price is the price of one token. The file has the price of a million tokens in US dollars.
	Price agent.Price
	// RequestsPerMinute limits the requests of all workers together. TokensPerMinute limits the tokens of each worker. Zero means no limit.
	// The file has both below rate.
	RequestsPerMinute int
	TokensPerMinute   int
	// Params are sent with every request. In the file, they stand beside the other fields of the model. Numbers in extra are sent with the
	// digits of the file.
	Params llm.Params
}

// MCPServer is an MCP server: either a command, with the stdio transport, or a URL, with the streamable HTTP transport.
type MCPServer struct {
	// Command is the program and its arguments; nil if URL is set.
	Command []string
	// Env is the environment of Command. Besides, Command gets only a few variables of the worker's environment, such as HOME and PATH.
	// Values may refer to the worker's environment variables as ${NAME}: see [MCPServer.ResolveEnv].
	Env map[string]string

	// URL is the endpoint; empty if Command is set.
	URL string
	// Headers are sent with every request to URL. Values may refer to the worker's environment variables as ${NAME}: see
	// [MCPServer.ResolveHeaders].
	Headers map[string]string

	// Prefix is put before the name of every tool that Rename does not name.
	Prefix string
	// Rename maps the server's names of single tools to the names that models see.
	Rename map[string]string

	// Stateful says that the process of Command keeps state between calls. One worker runs the process, and all calls go to that worker.
	Stateful bool
	// Timeout limits one call. Defaults to [DefaultMCPTimeout].
	Timeout time.Duration
}

// Agent is the definition of one agent. Its name matches [A-Za-z0-9_-]{1,64}, because the models of its parents see it as the name of a tool.
type Agent struct {
	// Description says what the agent is for. The models of its parents read it.
	Description string
	// Model names an entry of [Config.Models].
	Model string
	// Fallback names models that are called, in this order, if Model cannot answer.
	Fallback []string
	// OutputSchema is a JSON schema that the answers must fit. Empty means that answers are text.
	OutputSchema json.RawMessage
	// Instructions is the text of the system message. Empty means no system message.
	Instructions string
	// Tools names the tools of the agent. An entry is the name of a built-in tool or Go tool, "server.tool" for one tool of an MCP server, or
	// "server.*" for all tools of it. In "server.tool", tool is the server's own name. See [SplitTool]. The worker checks that the tools
	// exist.
	Tools []string
	// Agents names the sub-agents. The model sees each as a tool.
	Agents []string
	// KeepAgents lets sub-agents run on if the agent has answered and does not wait for them. Otherwise, they are cancelled.
	KeepAgents bool
	// Limits are the limits of the agent, with the defaults of [agent.Limits.WithDefaults].
	Limits agent.Limits
}

// Models returns the names of Model and of the Fallback models, in order.
func (a Agent) Models() []string { return append([]string{a.Model}, a.Fallback...) }

// Tools configures the built-in tools.
type Tools struct {
	// Root is the folder that the file tools can read. The path in files_root is relative to the folder of the configuration file. Defaults
	// to that folder.
	Root string
	// HTTPAllowPrivate lets http_get reach private and loopback addresses.
	HTTPAllowPrivate bool
}

// Load reads and validates the file at path. The error is an [*Error] if the content is wrong.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	// Parse refuses a file that is one byte too large, so there is no need to read more.
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, data)
}
