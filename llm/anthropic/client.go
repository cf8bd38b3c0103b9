// Package anthropic has the client for Anthropic's Messages API. It also works with the compatible endpoints of other providers.
//
//	llm.Request → body.go, conversation.go          → endpoint
//	llm.Reply   ← reply.go ← stream.go, incoming.go ← endpoint
//
// Claude on Google's and Amazon's clouds differs in the wrapping of the requests: see [Platform].
//
// Anthropic's library is not used, for these reasons:
//   - The library's types change the order of JSON members, and write numbers in another form. A part of a prompt must keep its
//     bytes, because Anthropic's prompt cache compares them, and because the signature of a thinking block depends on them.
//   - The library's stream reader does not distinguish a stream that was cut from one that ended.
//   - Compatible endpoints send values that the library's types do not accept.
//
// An endpoint may refuse a part of a request that the model does not support. The client then sends the request again in another
// [form], and remembers the form. Package repair corrects the models' mistakes in tool calls.
package anthropic

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// DefaultBaseURL is the default of [Options.BaseURL].
const DefaultBaseURL = "https://api.anthropic.com"

// The defaults of [Options.Timeout] and [Options.IdleTimeout].
const (
	DefaultTimeout     = endpoint.DefaultTimeout
	DefaultIdleTimeout = endpoint.DefaultIdleTimeout
)

// Options configure a [Client]. The zero value sends requests to [DefaultBaseURL], without an API key.
type Options struct {
	// Name is the configuration's name of the model, for error messages. If it is empty, error messages use the provider's
	// name of the model.
	Name string
	// Platform is where the models run. The zero value is [Anthropic].
	Platform Platform
	// BaseURL is the URL to which "/v1/messages" is added. It may also end in "/v1". Defaults to [DefaultBaseURL]. For another Platform,
	// BaseURL has no default: see [Vertex] and [Bedrock].
	BaseURL string
	// APIKey is sent in the header X-Api-Key, or as a bearer token to another Platform than Anthropic. If it is empty, the header is not
	// sent. [New] removes white space around the key.
	APIKey string
	// Timeout limits the time from the request to the last byte of the response. For a streamed reply, it limits the time to the
	// first part of the content, and then the time from each part to the next. Defaults to [DefaultTimeout].
	Timeout time.Duration
	// IdleTimeout is the longest time for which an endpoint may send nothing within a streamed reply. If the endpoint sends
	// nothing for longer, the request fails with an error of class [llm.Connection]. IdleTimeout applies only after the first
	// text, reasoning or tool call of the reply. Any byte restarts the time. Defaults to [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// NoStream requests replies without streaming. If NoStream is false and an endpoint refuses to stream, the client sends the
	// request again without streaming. Later requests with the same model, reasoning effort and output schema are then sent without
	// streaming, too.
	NoStream bool
	// PromptCache sets the marks (`cache_control`) for Anthropic's prompt cache. Defaults to [UsualCache]. If an endpoint refuses
	// [HourCache], later requests have the usual marks.
	PromptCache PromptCache
	// Headers are sent with every request. They replace headers of the client with the same name.
	Headers map[string]string
	// Query has parameters for the query of the URL. They are sent with every request.
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

// Client is an [llm.Client] for endpoints with Anthropic's Messages API. It is safe for concurrent use.
type Client struct {
	*endpoint.Base
	options  Options
	wrapping wrapping
	forms    forms
}

var _ llm.Located = (*Client)(nil)

// New returns a client with the given options. It does not connect to the endpoint. If an option is not valid, the error names
// the option.
func New(options Options) (*Client, error) {
	options.Log = cmp.Or(options.Log, slog.Default())
	if !slices.Contains([]PromptCache{UsualCache, HourCache, NoCache}, options.PromptCache) {
		return nil, fmt.Errorf("model %q: PromptCache is %q, which is not known; leave it empty, or set it to 1h or off", options.Name, options.PromptCache)
	}
	wrapping, baseURL, err := options.wrapping()
	if err != nil {
		return nil, err
	}
	base, err := endpoint.NewBase(endpoint.Settings{
		Name: options.Name, BaseURL: baseURL, APIKey: options.APIKey,
		Timeout: options.Timeout, IdleTimeout: options.IdleTimeout, Headers: options.Headers, Query: options.Query, Credential: options.Credential, TLS: options.TLS, HTTPClient: options.HTTPClient,
	}, wrapping.paths...)
	if err != nil {
		return nil, err
	}
	return &Client{Base: base, options: options, wrapping: wrapping}, nil
}

// Server returns the server of the endpoint. The provider of an endpoint that is not known is "anthropic", because of its API.
func (c *Client) Server() llm.Server { return c.ServerOf(c.wrapping.provider) }

// Complete sends the request to the first candidate and returns the reply. The caller may try the other candidates. The error
// is an [*llm.Error]. If `ctx` ends before the response is complete, the error wraps the error of `ctx` instead.
func (c *Client) Complete(ctx context.Context, req llm.Request) (llm.Reply, error) {
	return c.Base.Complete(ctx, req, c.negotiate)
}

// negotiate sends the request in a [form] that the endpoint accepts. It begins with the form that [forms.of] returns. If the endpoint
// refuses a part of the request, negotiate tries up to [endpoint.MaxLessons] other forms, and remembers the first one that succeeds. It
// stops trying as soon as a reply has begun. These attempts are not retries in the sense of [llm.Client], because the model has not
// processed the refused requests. `renew` restarts the timeout: see [endpoint.WithTimeout].
func (c *Client) negotiate(ctx context.Context, renew func(), model string, req llm.Request) (llm.Reply, error) {
	known := c.forms.of(model, req)
	known.plain = known.plain || c.options.NoStream
	known.uncached = known.uncached || c.options.PromptCache == NoCache
	known.brief = known.brief || c.options.PromptCache != HourCache
	known.thoughtful = known.thoughtful || !known.signed && wantsThinking(c.Host, model)
	known.signed = known.signed || !known.thoughtful && c.claude(model)
	var refusals []string
	family := c.family(model, req)
	ctx, began := endpoint.Began(ctx)
	tried := map[[sha256.Size]byte]bool{} // the digests of the bodies so far: two refusals must not lead to each other
	for f := known; ; {
		body, err := encodeBody(model, family, req, f)
		if err != nil {
			return llm.Reply{}, err
		}
		tried[sha256.Sum256(body)] = true
		reply, err := c.ask(ctx, renew, model, body, req, family, f)
		next, refused := f.after(err, f.request(req), func(next form) bool {
			other, err := encodeBody(model, family, req, next)
			return err == nil && !tried[sha256.Sum256(other)]
		})
		if refused && !began() && len(refusals) < endpoint.MaxLessons {
			f, refusals = next, append(refusals, c.Refusal(err))
			continue
		}
		if err == nil && f != known && c.forms.keep(model, req, f) {
			c.options.Log.InfoContext(ctx, "the endpoint of a model accepts only another form of requests; later requests have it", "model", model)
			c.options.Log.DebugContext(ctx, "the endpoint refused earlier forms", "model", model, "refusals", refusals) // which may quote the request
		}
		endpoint.AdviseEffort(err, req.Params.ReasoningEffort)
		return reply, err
	}
}

// SendsReasoning reports whether requests to a model may have the reasoning of earlier replies that other models have made.
func (c *Client) SendsReasoning(model string) bool { return wantsThinking(c.Host, model) }

// ask sends one request, whose body in the form `f` is given, and returns the reply.
func (c *Client) ask(ctx context.Context, renew func(), model string, body []byte, req llm.Request, family string, f form) (llm.Reply, error) {
	sent, err := c.wrapping.request(model, body, !f.plain)
	if err != nil {
		return llm.Reply{}, err
	}
	sent.Key = req.Key
	reply := assembly{renew: renew, tell: llm.Stream(ctx), tool: f.answerTool(req)}
	if err := c.Send(ctx, sent, &reply); err != nil {
		return llm.Reply{}, err
	}
	return readReply(reply.answer(), req, family)
}
