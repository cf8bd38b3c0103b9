// Package anthropic has the client for Anthropic's Messages API. It also works with the compatible endpoints of other providers.
//
//	llm.Request → body.go, conversation.go → anthropic-sdk-go → exchange.go → endpoint
//	llm.Reply   ← reply.go ← stream.go, incoming.go ←           exchange.go ←
//
// Anthropic's library builds the HTTP requests: the URL, the API key and the version of the API. exchange.go sends them and reads
// the responses. This package has its own types for the bodies of requests and responses, for these reasons:
//   - The library's types change the order of JSON members, and write numbers in another form. A part of a prompt must keep its
//     bytes, because Anthropic's prompt cache compares them, and because the signature of a thinking block depends on them.
//   - The library's stream reader does not distinguish a stream that was cut from one that ended.
//   - Compatible endpoints send values that the library's types do not accept.
//
// An endpoint may refuse a part of a request that the model does not support. The client then sends the request again in another
// [form], and remembers the form. Package repair corrects the models' mistakes in tool calls.
package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// DefaultBaseURL is the default of [Options.BaseURL].
const DefaultBaseURL = "https://api.anthropic.com"

// The defaults of [Options.Timeout] and [Options.IdleTimeout].
const (
	DefaultTimeout     = 10 * time.Minute
	DefaultIdleTimeout = 2 * time.Minute
)

// Options configure a [Client].
type Options struct {
	// Name is the configuration's name of the model, for error messages. If it is empty, error messages use the provider's
	// name of the model.
	Name string
	// BaseURL is the URL to which "/v1/messages" is added. It may also end in "/v1". Defaults to [DefaultBaseURL].
	BaseURL string
	// APIKey is sent in the header X-Api-Key. If it is empty, the header is not sent. [New] removes white space around the key.
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
	// NoPromptCache omits the marks (`cache_control`) for Anthropic's prompt cache. Compared with other input tokens, tokens that
	// are read from the cache cost less, and tokens that are written to it cost more. So set NoPromptCache if no request begins like
	// an earlier one.
	NoPromptCache bool
	// Headers are sent with every request. They replace headers of the client with the same name.
	Headers map[string]string
	// Query has parameters for the query of the URL. They are sent with every request.
	Query map[string]string
	// Log receives an entry when the client learns which requests an endpoint accepts. Defaults to [slog.Default].
	Log *slog.Logger
	// HTTPClient sends the requests. It must not retry. If HTTPClient is nil, the client uses one that does not follow
	// redirects.
	HTTPClient *http.Client
}

// Client is an [llm.Client] for endpoints with Anthropic's Messages API. It is safe for concurrent use.
type Client struct {
	options Options
	model   endpoint.Model // for errors
	// replies hides secrets in replies. It hides only secrets that look random, such as API keys. Other secrets may be words that
	// occur in harmless texts.
	replies *redact.Redactor
	library anthropic.Client
	sender  endpoint.Sender
	forms   forms
}

var _ llm.Client = (*Client)(nil)

// New returns a client with the given options. It does not connect to the endpoint. If an option is not valid, the error names
// the option.
func New(options Options) (*Client, error) {
	options.APIKey = strings.TrimSpace(options.APIKey)
	options.BaseURL = strings.TrimRight(cmp.Or(options.BaseURL, DefaultBaseURL), "/")
	options.BaseURL = strings.TrimRight(strings.TrimSuffix(options.BaseURL, "/v1"), "/")
	options.Timeout = cmp.Or(options.Timeout, DefaultTimeout)
	options.IdleTimeout = cmp.Or(options.IdleTimeout, DefaultIdleTimeout)
	options.Headers, options.Query = maps.Clone(options.Headers), maps.Clone(options.Query)
	options.Log = cmp.Or(options.Log, slog.Default())

	base, err := options.validate()
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", options.Name, err)
	}
	if options.HTTPClient == nil {
		options.HTTPClient = endpoint.NewHTTPClient()
	}
	library := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithBaseURL(options.BaseURL), option.WithMaxRetries(0),
	}
	if options.APIKey != "" {
		library = append(library, option.WithAPIKey(options.APIKey))
	}
	secrets := endpoint.Secrets(options.APIKey, options.BaseURL, options.Headers, options.Query)
	return &Client{
		options: options,
		model:   endpoint.Model{Name: options.Name, Host: base.Host, Timeout: options.Timeout, Secrets: redact.New(secrets...)},
		replies: redact.Random(secrets...),
		library: anthropic.NewClient(library...),
		sender: endpoint.Sender{
			HTTPClient: options.HTTPClient, IdleTimeout: options.IdleTimeout, Headers: options.Headers, Query: options.Query,
		},
	}, nil
}

// validate checks the options and returns the parsed base URL. The error names the first option that is not valid.
func (o Options) validate() (*url.URL, error) {
	// The error of url.Parse is not wrapped: it quotes the URL, which may contain a password.
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("BaseURL is not an http or https URL with a host; set a URL such as https://api.anthropic.com")
	}
	switch {
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("BaseURL has a query or fragment; remove it, and set Query")
	case strings.HasSuffix(base.Path, "/messages"):
		return nil, errors.New(`BaseURL ends in "/messages", which the client adds itself; remove it from BaseURL`)
	case o.Timeout < 0:
		return nil, errors.New("Timeout is negative; set a positive duration, or 0 for the default") //nolint:staticcheck // begins with the name of the option
	case o.IdleTimeout < 0:
		return nil, errors.New("IdleTimeout is negative; set a positive duration, or 0 for the default")
	case strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, errors.New("APIKey contains white space or a control character; remove it")
	}
	return base, nil
}

// Complete sends the request to the first candidate and returns the reply. The caller may try the other candidates. The error
// is an [*llm.Error]. If `ctx` ends before the response is complete, the error wraps the error of `ctx` instead.
func (c *Client) Complete(ctx context.Context, req llm.Request) (llm.Reply, error) {
	if len(req.Candidates) == 0 {
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "the request has no candidate"}
	}
	candidate := req.Candidates[0]
	limited, renew, cancel := endpoint.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	reply, err := c.negotiate(limited, renew, candidate.Model, req)
	if err != nil {
		return llm.Reply{}, c.model.Error(ctx, candidate.Model, err)
	}
	reply = reply.MapText(c.replies.Text)
	reply.Candidate = candidate.Name
	return reply, nil
}

// negotiate sends the request in a [form] that the endpoint accepts. It begins with the form that [forms.of] returns. If the
// endpoint refuses a part of the request, negotiate tries other forms, and remembers the first one that succeeds. These attempts
// are not retries in the sense of [llm.Client], because the model has not processed the refused requests. `renew` restarts the
// timeout: see [endpoint.WithTimeout].
func (c *Client) negotiate(ctx context.Context, renew func(), model string, req llm.Request) (llm.Reply, error) {
	known := c.forms.of(model, req)
	known.plain = known.plain || c.options.NoStream
	known.uncached = known.uncached || c.options.NoPromptCache
	var refusals []string
	family := familyOf(c.model.Host, model, req)
	ctx, began := endpoint.Began(ctx)
	for f := known; ; {
		body, err := encodeBody(model, family, req, f)
		if err != nil {
			return llm.Reply{}, err
		}
		reply, err := c.ask(ctx, renew, body, req, family, !f.plain)
		next, refused := f.after(err, req, func(next form) bool {
			other, err := encodeBody(model, family, req, next)
			return err == nil && !bytes.Equal(other, body)
		})
		if refused && !began() && len(refusals) < maxLessons {
			f, refusals = next, append(refusals, endpoint.Shorten(c.model.Secrets.Text(err.Error())))
			continue
		}
		if err == nil && f != known && c.forms.keep(model, req, f) {
			c.options.Log.Info("the endpoint of a model accepts only another form of requests; later requests have it", "model", model, "refusals", refusals)
		}
		return reply, err
	}
}

// maxLessons limits how many refusals of one request the client learns from.
const maxLessons = 12

// ask sends one request with the given body and returns the reply. `streams` says whether the body asks for a stream.
func (c *Client) ask(ctx context.Context, renew func(), body []byte, req llm.Request, family string, streams bool) (llm.Reply, error) {
	x := &exchange{client: c, key: req.Key, streams: streams, renew: renew, tell: llm.Stream(ctx)}
	err := c.library.Post(ctx, "v1/messages", body, nil, option.WithHTTPClient(x))
	if x.done {
		err = x.err // the library does not return all errors as they are
	}
	if err != nil {
		return llm.Reply{}, err
	}
	return readReply(x.answer, req, family)
}
