// Package config reads agents.yaml: the models, the MCP servers and the agents that a worker serves. An unknown field in the
// file is an error. All problems of a file are reported at once, each with its line and field.
//
// A [Config] does not contain the API keys of models. It has the names of environment variables or files, which the worker
// reads when it needs an API key: see [Model.APIKey]. Some values, such as headers, may refer to environment variables and
// files: see [MCPServer.ResolveEnv].
package config

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// MaxFileSize is the largest size of a configuration file, in bytes.
const MaxFileSize = 1 << 20

// BaseURLEnv is the name of an environment variable. Its value is the base URL of all models of the provider "openai" that
// have no `base_url` in the file.
const BaseURLEnv = "OPENAI_BASE_URL"

// The default values of fields that are missing in the file.
const (
	DefaultTaskQueue    = protocol.DefaultTaskQueue
	DefaultBaseURL      = "https://api.openai.com/v1"
	DefaultAPIKeyEnv    = "OPENAI_API_KEY"    //nolint:gosec // the name of a variable, not a key
	AnthropicKeyEnv     = "ANTHROPIC_API_KEY" //nolint:gosec // the name of a variable, not a key
	DefaultAnthropicURL = "https://api.anthropic.com"
	DefaultModelTimeout = 10 * time.Minute
	DefaultMCPTimeout   = time.Minute
	DefaultShellTimeout = 2 * time.Minute
)

// NoContent is a value of [UI.Content]. With it, Temporal's Web UI and lists show nothing that people, models or tools say.
const NoContent = "none"

// MaxShellTimeout is the largest value of [Shell.Timeout]. A worker ends every tool call after 10 minutes. A command must end
// before that, or its output would be lost.
const MaxShellTimeout = 9 * time.Minute

// Config is the content of a valid configuration file, with all defaults set. It is safe for concurrent use, because nothing
// modifies it after [Load] or [Parse].
type Config struct {
	// TaskQueue is the Temporal task queue of the agents. Defaults to [DefaultTaskQueue].
	TaskQueue string
	// Models has the models by name. Agents use these names to refer to the models.
	Models map[string]Model
	// MCPServers has the MCP servers by name. In [Agent.Tools], the name of a server stands before the dot. In the file, this
	// field is `mcp_servers`.
	MCPServers map[string]MCPServer
	// Agents has the agents by name. There is at least one agent.
	Agents map[string]Agent
	// External has the tools whose results come from outside, by name: see [tool.NewExternal].
	External map[string]External
	// Notify has the hooks by name. All agents send notifications to them.
	Notify map[string]Hook
	// Callbacks lets the results of external calls come by HTTP. Nil means that they cannot.
	Callbacks *Callbacks
	// CallerTokens says where the tokens come from with which tools act for callers. Nil means that no tool does. In the file, this field is
	// `caller_tokens`.
	CallerTokens *CallerTokens
	// UI says what Temporal's Web UI shows of the agents.
	UI UI
	// Tools configures the built-in tools. In the file, this field is `builtin`.
	Tools Tools

	// source has the line of each value in the file.
	source source
	// failed has the paths of the values with a mistake: see [LoadPart].
	failed map[string]bool
}

// Files returns the paths of the files whose content is in the configuration: the configuration file itself, and those to which it refers for
// texts. A program that watches the configuration watches these. It does not contain the files of keys and certificates, which are read when
// they are needed.
func (c *Config) Files() []string {
	files := []string{c.source.file}
	for _, name := range sorted(c.Agents) {
		if path := c.Agents[name].InstructionsFile; path != "" && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	return files
}

// UI says what Temporal's Web UI and lists show of the agents.
type UI struct {
	// Content is what they show of what people, models and tools say: "all" or [NoContent]. Empty means all.
	Content string
}

// Model is one model endpoint.
type Model struct {
	// Provider is the kind of the endpoint: "openai", which means any OpenAI-compatible endpoint, or "anthropic". Defaults to
	// "openai".
	Provider string
	// Platform is where a model of the provider "anthropic" runs: "vertex" or "bedrock". Empty means an endpoint with Anthropic's API.
	Platform string
	// Model is the provider's name for the model.
	Model string
	// BaseURL is the URL of the endpoint, without "/chat/completions", "/responses" or "/v1/messages". Defaults to the value of
	// the environment variable [BaseURLEnv], or to [DefaultBaseURL] if the variable is empty. For the provider "anthropic",
	// BaseURL defaults to [DefaultAnthropicURL]; with a Platform, it has no default.
	BaseURL string
	// Key says where the API key comes from. If the file has no `base_url` and no key for the model, APIKeyEnv defaults to
	// [DefaultAPIKeyEnv], or to [AnthropicKeyEnv] for the provider "anthropic". There is one exception: if the endpoint comes
	// from [BaseURLEnv] and the variable OPENAI_API_KEY is empty, APIKeyEnv stays empty.
	Key
	// TLS has the files for the connection to the endpoint.
	TLS TLS
	// Timeout limits the time from the request to the last byte of the response. For a streamed reply, it limits the time to
	// the first part of the content, and then the time from each part to the next. Defaults to [DefaultModelTimeout].
	Timeout time.Duration
	// IdleTimeout is the longest time for which an endpoint may send nothing after a streamed reply has begun. Zero means the
	// default of packages [github.com/reagent-dev/reagent/llm/openai] and [github.com/reagent-dev/reagent/llm/anthropic].
	IdleTimeout time.Duration
	// RetryFor is how long a model call is tried again in an outage, for agents whose Model this is. It is at most [protocol.MaxRetryFor],
	// and less than the limit of time of these agents. Zero means 8 attempts, which take about two minutes.
	RetryFor time.Duration
	// NoStream turns off streaming. In the file, this is `stream: false`.
	NoStream bool
	// Reasoning says how the reasoning of earlier replies is sent back to the model. The zero value depends on the provider
	// and the model: see package [github.com/reagent-dev/reagent/llm/openai].
	Reasoning Reasoning
	// API is the API of the provider "openai": "chat", "responses" or "auto". Empty means auto.
	API string
	// Headers are sent with every request to the endpoint. Values may refer to environment variables, files and the API key: see
	// [Model.Credential].
	Headers map[string]string
	// Query is added to the URL of every request, such as "api-version". Values may refer to environment variables, files and the key:
	// see [Model.Credential].
	Query map[string]string
	// PromptCache sets the prompt cache of the provider "anthropic": "1h" for one hour, "off" for none. Empty means the usual 5 minutes.
	// In the file, these are `prompt_cache: 1h`, false and true.
	PromptCache string
	// Price is the price of one token. In the file, prices are in US dollars per million tokens.
	Price agent.Price
	// RequestsPerMinute limits the requests of all workers together. Zero means no limit. In the file, it is a field of
	// `rate`.
	RequestsPerMinute int
	// TokensPerMinute limits the tokens of each worker. Zero means no limit. In the file, it is a field of `rate`.
	TokensPerMinute int
	// Params are sent with every request. In the file, each parameter is a field of the model. Numbers in the field `extra`
	// are sent exactly as the file has them.
	Params llm.Params
}

// Reasoning says how the reasoning of assistant messages is sent back to a model.
type Reasoning struct {
	// Send is "never", "turn" (only within the running turn) or "always". Empty means the default of the provider.
	Send string
	// Field is the field of the message for the reasoning. Empty means "reasoning_content".
	Field string
}

// MCPServer is an MCP server: either a command, with the stdio transport, or a URL, with the streamable HTTP transport.
type MCPServer struct {
	// Command is the program and its arguments; nil if `URL` is set.
	Command []string
	// Env has environment variables for the command. In addition, the command gets a few variables of the worker, such as
	// HOME and PATH. Values may refer to any environment variable of the worker, and to files: see [MCPServer.ResolveEnv].
	Env map[string]string

	// URL is the endpoint; empty if `Command` is set.
	URL string
	// Headers are sent with every request to the endpoint. Values may refer to environment variables, files and the API key: see
	// [MCPServer.Credential].
	Headers map[string]string
	// Key says where the key for the endpoint comes from.
	Key
	// OAuth says how the worker gets its tokens for the endpoint; nil if it gets none. A valid configuration has at most one of OAuth and Key.
	OAuth *OAuth
	// CallerToken says that each call of a tool has the token of its caller: see [CallerTokens]. In the file, this field is `caller_token`.
	CallerToken bool
	// CallerOAuth says how the worker gets these tokens for the endpoint by OAuth; nil if they are what [CallerTokens] gives. In the file, this
	// field is `caller_oauth`.
	CallerOAuth *CallerOAuth
	// TLS has the files for the connection to the endpoint.
	TLS TLS

	// Prefix is added before the names of all tools of this server, except those in `Rename`.
	Prefix string
	// Rename maps the name of a tool at the server to its name for the model.
	Rename map[string]string

	// Stateful says that the process of the command keeps state between calls. Then only one worker runs the process, and all
	// calls go to this worker.
	Stateful bool
	// Timeout is the longest duration of one call. Defaults to [DefaultMCPTimeout].
	Timeout time.Duration
}

// Agent is the definition of one agent. Its name is the key in [Config.Agents], and has 1 to 64 letters, digits, _ or -.
// Models see a sub-agent as a tool with this name.
type Agent struct {
	// Description says what the agent does. The text is for the models of agents that have this agent as a sub-agent.
	Description string
	// Model is the name of the agent's model in [Config.Models].
	Model string
	// Fallback has the names of other models. If a call of the agent's model fails, they are called in this order.
	Fallback []string
	// Choices are what a program that starts the agent may choose besides Model and Fallback: see [agent.Overrides].
	Choices Choices
	// OutputSchema is a JSON schema that the agent's answers must fit. Empty means that an answer is any text.
	OutputSchema json.RawMessage
	// Instructions is the text of the system message. Empty means no system message.
	Instructions string
	// InstructionsFile is the path of the file from which Instructions come. Empty means that they stand in the configuration file. In the
	// file, a relative path is relative to the folder of the configuration file.
	InstructionsFile string
	// Tools has the names of the agent's tools. An entry is the name of a built-in tool or Go tool, "server.tool" for one tool of
	// an MCP server, or "server.*" for all its tools: see [SplitTool]. After the dot stands the name that the tool has at the
	// server. [Config.CheckTools] checks that the tools exist, except for those of MCP servers.
	Tools []string
	// Agents has the names of the sub-agents. The model sees each sub-agent as a tool.
	Agents []string
	// Background has those names in `Agents` whose agents work in the background: a call returns at once, and the answer comes
	// later as a message.
	Background []string
	// KeepAgents says what happens to sub-agents that are still running when the agent completes. True means that they
	// continue. False means that they are cancelled. An agent that fails or is cancelled always cancels its sub-agents.
	KeepAgents bool
	// Priority is the Temporal priority of the agent's calls: 1 (highest) to 5 (lowest). If it is 0, the calls have the
	// priority with which the agent was started.
	Priority int
	// Approval says which calls need a person's approval: "never", "always", "destructive", or a condition on the arguments, such as
	// "if args.amount > 50". A key is an entry of `Tools` or
	// `Agents`, "server.tool" or "server.*" for a server that `Tools` has, or "default". The most specific key decides. If
	// no key matches, the rule is "always" for the built-in tools `write_file`, `edit_file` and `shell` and for other tools with
	// [tool.Spec.NeedsApproval], and "never" for the rest.
	Approval map[string]string
	// ApprovalTimeout is how long a call waits for a person's decision, before it is denied. Zero means no limit.
	ApprovalTimeout time.Duration
	// Guardrails name the functions and the tools of MCP servers that judge messages and answers. An entry is "server.tool", or the name of
	// a Go function of a program: see [tool.Guardrail].
	Guardrails agent.Guardrails
	// Limits are the limits of the agent, with the defaults of [agent.Limits.WithDefaults].
	Limits agent.Limits
}

// ToolEntries returns Tools and the guardrails, in a new slice.
func (a Agent) ToolEntries() []string {
	return slices.Concat(a.Tools, a.Guardrails.Messages, a.Guardrails.Answers)
}

// External is a tool whose results come from outside. Agents name it in `tools` like a built-in tool.
type External struct {
	// Description tells the model what the tool does.
	Description string
	// Arguments is the JSON schema of the arguments; empty means any arguments.
	Arguments json.RawMessage
	// Timeout is how long a call waits for its result. Zero means no limit.
	Timeout time.Duration
}

// Models returns the names of the models that the agent may use: first its own, in the order in which they are called, and then its choices.
func (a Agent) Models() []string {
	return slices.Concat([]string{a.Model}, a.Fallback, a.Choices.Models)
}

// Tools configures the built-in tools.
type Tools struct {
	// Root is the folder that the file tools can read and write. In the file, this field is `files_root`. A relative path there is
	// relative to the folder of the configuration file. Defaults to that folder.
	Root string
	// HTTPAllowPrivate lets the tool `http_get` connect to private, link-local and loopback addresses, such as the metadata service
	// of a cloud provider, which may return credentials.
	HTTPAllowPrivate bool
	// Shell configures the tool `shell`. Nil means that there is no such tool.
	Shell *Shell
}

// Shell configures the built-in tool `shell`, which runs commands as the user of the worker.
type Shell struct {
	// Folder is the working folder of the commands. A relative path in the file is relative to the folder of the configuration
	// file. Defaults to [Tools.Root].
	Folder string
	// Timeout limits the duration of one command. It is at most [MaxShellTimeout]. Defaults to [DefaultShellTimeout].
	Timeout time.Duration
	// Env has the names of environment variables of the worker that commands get, in addition to a few that every command gets: see
	// [Shell.ResolveEnv].
	Env []string
}

// Load reads and validates the configuration file with the given path. If the content is wrong, the error is an [*Error]. If the file
// cannot be read, the error wraps that of the system.
func Load(path string) (*Config, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration file cannot be read: %w; name a file that this program can read", err)
	}
	defer f.Close()
	// Parse refuses a file that is one byte too large, so there is no need to read more.
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("the configuration file cannot be read: %w; name a file that this program can read", err)
	}
	return data, nil
}

// Choices are the values of [agent.Overrides] that an agent allows.
type Choices struct {
	// Models has names in [Config.Models].
	Models []string
	// ReasoningEfforts are values of [llm.Params].ReasoningEffort.
	ReasoningEfforts []string
}
