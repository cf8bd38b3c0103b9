// Package openai has the client for OpenAI's chat completions API and Responses API. The client also works with the compatible
// endpoints of other providers.
//
//	llm.Request → request.go, params.go            → endpoint
//	llm.Reply   ← reply.go ← incoming.go, chunk.go ← endpoint
//
// The library go-openai gives the types of those parts of requests that it can express. It cannot express whole requests, because it
// omits empty fields, and it cannot decode every response: see incoming.go. A stream becomes one complete response (chunk.go). The files
// responses*.go are for the Responses API: see [Options.API].
//
// Package endpoint sends the requests, reads the events of streams, and converts the errors in responses into [llm.Error]. Package repair
// corrects the models' mistakes in tool calls.
package openai

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// DefaultBaseURL is the default of [Options.BaseURL].
const DefaultBaseURL = "https://api.openai.com/v1"

// The defaults of [Options.Timeout] and [Options.IdleTimeout].
const (
	DefaultTimeout     = endpoint.DefaultTimeout
	DefaultIdleTimeout = endpoint.DefaultIdleTimeout
)

// The values of [Options.API].
const (
	ChatAPI      = "chat"      // chat completions
	ResponsesAPI = "responses" // OpenAI's Responses API
	AutoAPI      = "auto"      // the Responses API for models that the endpoint serves only there, and chat completions for all others
)

// Options configure a [Client]. The zero value sends requests to [DefaultBaseURL], without an API key.
type Options struct {
	// Name is the configuration's name of the model, for error messages. If it is empty, error messages use the provider's
	// name of the model.
	Name string
	// Provider is the kind of the endpoint. The only value is "openai", which is the default.
	Provider string
	// API is the API of the endpoint that the client uses: [ChatAPI], [ResponsesAPI] or [AutoAPI]. Defaults to AutoAPI.
	API string
	// BaseURL is the URL to which "/chat/completions" or "/responses" is added. Defaults to [DefaultBaseURL].
	BaseURL string
	// APIKey is sent as a bearer token. If it is empty, no token is sent. [New] removes white space around the key.
	APIKey string
	// Timeout limits the time from the request to the last byte of the response. For a streamed reply, it limits the time to the
	// first text, reasoning or tool call, and then the time from each of them to the next. Defaults to [DefaultTimeout].
	Timeout time.Duration
	// IdleTimeout is the longest time for which an endpoint may send nothing within a streamed reply. If the endpoint sends
	// nothing for longer, the request fails with an error of class [llm.Connection]. IdleTimeout applies only after the first
	// text, reasoning or tool call of the reply, because a model may need a long time before it begins. A keep-alive comment
	// restarts the time. Defaults to [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// NoStream requests replies without streaming. Streaming has two advantages: the function of [llm.WithStream] gets the parts of a
	// reply while they arrive, and proxies do not cut the connection, because the endpoint is not silent for a long time.
	//
	// If NoStream is false and an endpoint refuses to stream, the client sends the request again without streaming. If the second request
	// succeeds, the client does not request a stream from this model again.
	NoStream bool
	// Reasoning says how the reasoning of assistant messages is sent back to the model. It applies only to chat completions.
	Reasoning Reasoning
	// Headers are sent with every request. They replace headers of the client with the same name.
	Headers map[string]string
	// Query is added to the query of the URL of every request, such as "api-version" for classic Azure.
	Query map[string]string
	// Log receives an entry when the client learns which requests an endpoint accepts. Defaults to [slog.Default].
	Log *slog.Logger
	// Credential returns the credential for each request, for keys that change. It replaces what it returns of APIKey, Headers and Query.
	// Nil means that these do not change.
	Credential llm.CredentialSource
	// TLS has the settings of TLS connections to the endpoint, for example with a client certificate. Nil means the defaults of package tls. It
	// cannot be combined with HTTPClient.
	TLS *tls.Config
	// HTTPClient sends the requests. It must not retry. If HTTPClient is nil, the client uses one that does not follow
	// redirects.
	HTTPClient *http.Client
}

// Client is an [llm.Client] for endpoints with OpenAI's chat completions API or Responses API. It is safe for concurrent use.
type Client struct {
	*endpoint.Base
	options Options
	forms   forms
}

var _ llm.Located = (*Client)(nil)

// New returns a client with the given options. It does not connect to the endpoint. If an option is not valid, the error names
// the option.
func New(options Options) (*Client, error) {
	options.Provider = cmp.Or(options.Provider, "openai")
	options.API = cmp.Or(options.API, AutoAPI)
	options.Log = cmp.Or(options.Log, slog.Default())
	if err := options.check(); err != nil {
		return nil, fmt.Errorf("model %q: %w", options.Name, err)
	}
	base, err := endpoint.NewBase(endpoint.Settings{
		Name: options.Name, BaseURL: cmp.Or(options.BaseURL, DefaultBaseURL), APIKey: options.APIKey,
		Timeout: options.Timeout, IdleTimeout: options.IdleTimeout, Headers: options.Headers, Query: options.Query, Credential: options.Credential, TLS: options.TLS, HTTPClient: options.HTTPClient,
	}, "/chat/completions", "/responses")
	if err != nil {
		return nil, err
	}
	return &Client{Base: base, options: options}, nil
}

// Server returns the server of the endpoint. The provider of an endpoint that is not known is "openai", because of its API.
func (c *Client) Server() llm.Server { return c.ServerOf("openai") }

// check checks the options that only this client has. The error names the first option that is not valid.
func (o Options) check() error {
	switch {
	case o.Provider != "openai":
		return fmt.Errorf("unknown Provider %q; the only provider is \"openai\"", o.Provider)
	case !slices.Contains([]string{ChatAPI, ResponsesAPI, AutoAPI}, o.API):
		return fmt.Errorf("unknown API %q; set \"chat\", \"responses\" or \"auto\"", o.API)
	case !slices.Contains([]string{"", Never, WithinTurn, Always}, o.Reasoning.Send):
		return fmt.Errorf("Reasoning.Send is %q, which is not known; set it to never, turn or always", o.Reasoning.Send)
	}
	return nil
}

// Complete sends the request to the first candidate and returns the reply. The caller may try the other candidates. The error
// is an [*llm.Error]. If `ctx` ends before the response is complete, the error wraps the error of `ctx` instead.
func (c *Client) Complete(ctx context.Context, req llm.Request) (llm.Reply, error) {
	return c.Base.Complete(ctx, req, c.negotiate)
}

// negotiate sends the request in a [form] that the endpoint accepts, for example without streaming. It begins with the form that is known
// to work for the model. If the endpoint refuses this form and says why, negotiate tries up to [endpoint.MaxLessons] other forms. It stops
// trying as soon as a reply has begun. It remembers the first form that succeeds. These attempts are not retries in the sense of
// [llm.Client], because the model has not seen the refused requests.
func (c *Client) negotiate(ctx context.Context, renew func(), model string, req llm.Request) (llm.Reply, error) {
	first := usual(c.Host, model, c.options.API, c.deployment())
	if c.options.NoStream {
		first |= noStream
	}
	var learned []string
	var once form
	ctx, began := endpoint.Began(ctx)
	for form := c.forms.of(model, first, req); ; {
		reply, err := c.ask(ctx, renew, model, req, form)
		if next, l, ok := form.learn(req, c.options.API == AutoAPI && !c.deployment(), err); ok && !began() && len(learned) < endpoint.MaxLessons {
			if l.once {
				once |= l.learn
			}
			learned = append(learned, l.name)
			form = next
			continue
		}
		if err == nil && len(learned) > 0 && form&^once != c.forms.of(model, first, req) {
			c.forms.keep(model, form&^once, req, learned, c.options.Log)
		}
		endpoint.AdviseEffort(err, req.Params.ReasoningEffort)
		return reply, advise(err)
	}
}

// deployment reports whether the URL is that of one deployment of classic Azure. Such a URL does not serve the Responses API.
func (c *Client) deployment() bool { return strings.Contains(c.BaseURL, "/deployments/") }

func (c *Client) reasoning(model string) Reasoning {
	r := DefaultReasoning(c.Host, model)
	return Reasoning{Send: cmp.Or(c.options.Reasoning.Send, r.Send), Field: cmp.Or(c.options.Reasoning.Field, r.Field)}
}

// SendsReasoning reports whether chat completions requests to a model may have the reasoning of earlier messages.
func (c *Client) SendsReasoning(model string) bool { return c.reasoning(model).Send != Never }

// ask sends the request once. The form decides to which API the request goes.
func (c *Client) ask(ctx context.Context, renew func(), model string, req llm.Request, form form) (llm.Reply, error) {
	if len(req.Params.OutputSchema) > 0 && form.has(formats) {
		req = endpoint.SchemaInPrompt(req)
	}
	if form.has(viaResponses) {
		return c.askResponses(ctx, renew, model, req, form)
	}
	fields, err := fields(req, form)
	if err != nil {
		return llm.Reply{}, err
	}
	family := endpoint.Family(c.Host, model)
	body, err := writer{form, family, c.reasoning(model)}.chatRequest(model, form.conversation(req.Messages), form.fields(fields))
	if err != nil {
		return llm.Reply{}, err
	}
	reply := assembly{tell: llm.Stream(ctx), tools: req.Tools}
	if err := c.post(ctx, "/chat/completions", body, req, form, &reply); err != nil {
		return recovered(err, req)
	}
	return reply.completion().reply(req, family)
}

// post sends a request with the given body, and gives the response to `reply`. `path` is added to the base URL.
func (c *Client) post(ctx context.Context, path string, body []byte, req llm.Request, form form, reply endpoint.Reply) error {
	return c.Send(ctx, endpoint.Request{
		Path: path, Body: body, Key: req.Key, Stream: !form.has(noStream), KeyHeader: "Authorization", KeyPrefix: "Bearer ",
	}, reply)
}
