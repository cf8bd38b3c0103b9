// Package openai is the client of endpoints that speak OpenAI's
// chat-completions format, OpenAI's own among them.
//
//	llm.Request → request.go, params.go → go-openai → exchange.go → endpoint
//	llm.Reply   ← reply.go              ← go-openai ← exchange.go ←
//
// The client library does the ordinary work. What it cannot express or read is
// put right in one place, on the JSON that crosses the wire: outgoing.go and
// incoming.go, called by exchange.go. A stream is made one whole reply there, in
// stream.go. Whatever is not a reply becomes an [llm.Error] in problem.go, and
// wordings.go is the only file that knows what providers write. What models
// write wrong about tools is put right by package repair.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/llm"
)

// DefaultBaseURL is the endpoint used when [Options.BaseURL] is empty.
const DefaultBaseURL = "https://api.openai.com/v1"

// Defaults of [Options.Timeout] and [Options.IdleTimeout].
const (
	DefaultTimeout     = 2 * time.Minute
	DefaultIdleTimeout = 2 * time.Minute
)

// Options say where a model is and how to reach it.
type Options struct {
	// Name is the configuration's name of the model; messages of errors use it.
	// Defaults to the provider's name of the model.
	Name string
	// Provider is the dialect of the endpoint. "openai" is the only one so far,
	// and the default.
	Provider string
	// BaseURL is the address before "/chat/completions". Defaults to
	// [DefaultBaseURL].
	BaseURL string
	// APIKey is sent as a bearer token; empty sends none. Surrounding white
	// space is cut off.
	APIKey string
	// Timeout limits one answer, from the request to its last byte. Defaults to
	// [DefaultTimeout].
	Timeout time.Duration
	// IdleTimeout limits the silence after the first words of a streamed answer;
	// before them only Timeout counts, since a model may think for long. Keep-alive
	// comments break a silence. Defaults to [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// NoStream asks for whole replies. Otherwise they are asked for as a stream,
	// which proxies do not cut for its silence and [llm.WithStream] can follow. An
	// endpoint that refuses to stream is asked again plainly, and from then on
	// first, for each model.
	NoStream bool
	// SendReasoning sends the reasoning of the assistant's messages since the last
	// one of the user back, as reasoning_content. Some models refuse a tool's
	// result without it (DeepSeek's while thinking); others refuse it.
	SendReasoning bool
	// Headers are sent with every request, over the client's own.
	Headers map[string]string
	// HTTPClient sends the requests. Nil means one of our own, which follows no
	// redirect. It must not retry.
	HTTPClient *http.Client
}

// Client is an [llm.Client]. It is safe for concurrent use.
type Client struct {
	options Options
	host    string
	// errors hides the secrets in errors, replies the keys in replies.
	errors, replies *redact.Redactor
	library         openai.ClientConfig
	forms           forms
}

var _ llm.Client = (*Client)(nil)

// New returns a client, or an error that names the option that cannot be used.
// It connects to nothing.
func New(options Options) (*Client, error) {
	options.APIKey = strings.TrimSpace(options.APIKey)
	options.BaseURL = strings.TrimRight(cmp.Or(options.BaseURL, DefaultBaseURL), "/")
	options.Timeout = cmp.Or(options.Timeout, DefaultTimeout)
	options.IdleTimeout = cmp.Or(options.IdleTimeout, DefaultIdleTimeout)
	options.Provider = cmp.Or(options.Provider, "openai")
	options.Headers = maps.Clone(options.Headers)

	base, err := options.validate()
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", options.Name, err)
	}
	if options.HTTPClient == nil {
		options.HTTPClient = newHTTPClient()
	}
	library := openai.DefaultConfig(options.APIKey)
	library.BaseURL = options.BaseURL
	return &Client{
		options: options,
		host:    base.Host,
		errors:  redact.New(options.secrets()...),
		replies: redact.Random(options.secrets()...),
		library: library,
	}, nil
}

// validate reports the first option that cannot be used.
func (o Options) validate() (*url.URL, error) {
	// The error of url.Parse quotes the URL, which may hold a password.
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("BaseURL is not an http or https URL")
	}
	switch {
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("BaseURL holds a query or fragment")
	case strings.HasSuffix(base.Path, "/chat/completions"):
		return nil, errors.New(`BaseURL ends in "/chat/completions", which is added to it: leave that off`)
	case o.Provider != "openai":
		return nil, fmt.Errorf("unknown Provider %q", o.Provider)
	case o.Timeout < 0:
		return nil, errors.New("Timeout is negative") //nolint:staticcheck // the name of the option
	case o.IdleTimeout < 0:
		return nil, errors.New("IdleTimeout is negative")
	case strings.ContainsFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, errors.New("APIKey holds white space or a control character")
	}
	return base, nil
}

// newHTTPClient returns a client that reports a redirect in place of following
// it: a POST turns into a GET on the way, and the failure of that says nothing.
func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32 // agents of one worker share few hosts
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Complete asks the first candidate. An error is an [*llm.Error], unless the
// caller's context ended: then it wraps the context's error. The other
// candidates are the caller's to try.
func (c *Client) Complete(ctx context.Context, req llm.Request) (llm.Reply, error) {
	if len(req.Candidates) == 0 {
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "the request names no model"}
	}
	candidate := req.Candidates[0]
	limited, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	reply, err := c.negotiate(limited, candidate.Model, req)
	if err != nil {
		return llm.Reply{}, c.failed(ctx, limited, candidate.Model, err)
	}
	reply = reply.MapText(c.replies.Text)
	reply.Candidate = candidate.Name
	return reply, nil
}

// negotiate asks in the form that the model is known to take, and in a plainer
// one when the endpoint refuses the form. That is no retry: nothing was answered.
func (c *Client) negotiate(ctx context.Context, model string, req llm.Request) (llm.Reply, error) {
	first := streamed
	if c.options.NoStream {
		first = plain
	}
	known := c.forms.of(model, first)
	for form := known; ; {
		reply, err := c.ask(ctx, model, req, form)
		if next, refused := form.after(err); refused {
			form = next
			continue
		}
		if err == nil && form != known {
			c.forms.keep(model, form)
		}
		return reply, err
	}
}

// ask has one exchange with the endpoint, through the library.
func (c *Client) ask(ctx context.Context, model string, req llm.Request, form form) (llm.Reply, error) {
	fields, err := fields(req, c.host)
	if err != nil {
		return llm.Reply{}, err
	}
	library := c.library
	library.HTTPClient = &exchange{client: c, key: req.Key, fields: fields, form: form, tell: llm.Stream(ctx)}
	response, err := openai.NewClientWithConfig(library).CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model:    model,
		Messages: messages(req.Messages, c.options.SendReasoning),
	})
	if err != nil {
		return recovered(err, req)
	}
	return readReply(response, req)
}
