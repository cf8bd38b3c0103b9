package endpoint

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/llm"
)

// The defaults of [Settings.Timeout] and [Settings.IdleTimeout].
const (
	DefaultTimeout     = 10 * time.Minute
	DefaultIdleTimeout = 2 * time.Minute
)

// MaxLessons caps how often a client changes and resends one refused request.
const MaxLessons = 12

// Settings are the options that the clients of all APIs have. Each field means what the client's option with the same name means.
type Settings struct {
	Name, BaseURL, APIKey string
	Timeout, IdleTimeout  time.Duration
	Headers, Query        map[string]string
	Credential            llm.CredentialSource
	TLS                   *tls.Config
	HTTPClient            *http.Client
}

// Base is the part that the clients of all APIs have in common. It is safe for concurrent use.
type Base struct {
	// Settings are the settings with all defaults. The base URL does not end in a slash.
	Settings
	// Host is the host of the endpoint, with the port if the URL has one.
	Host string
	// secrets hides secrets in errors.
	secrets *redact.Redactor
	// replies hides secrets in replies. It hides only secrets that look random, such as API keys. Other secrets may be words that
	// occur in harmless texts.
	replies *redact.Redactor
}

// NewBase checks the settings and sets their defaults. `paths` are the paths that the client adds to the base URL, so the base URL must
// not end in one of them. The error names the first option that is not valid.
func NewBase(s Settings, paths ...string) (*Base, error) {
	s.APIKey, s.BaseURL = strings.TrimSpace(s.APIKey), strings.TrimRight(s.BaseURL, "/")
	s.Timeout, s.IdleTimeout = cmp.Or(s.Timeout, DefaultTimeout), cmp.Or(s.IdleTimeout, DefaultIdleTimeout)
	s.Headers, s.Query = maps.Clone(s.Headers), maps.Clone(s.Query)
	base, err := s.check(paths)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", s.Name, err)
	}
	if s.HTTPClient == nil {
		s.HTTPClient = NewHTTPClient(s.TLS)
	}
	secrets := Secrets(s.APIKey, s.BaseURL, s.Headers, s.Query)
	return &Base{Settings: s, Host: base.Host, secrets: redact.New(secrets...), replies: redact.Random(secrets...)}, nil
}

// check returns the parsed base URL, or an error that names the first setting that is not valid.
func (s Settings) check(paths []string) (*url.URL, error) {
	// The error of url.Parse is not wrapped: it quotes the URL, which may contain a password.
	base, err := url.Parse(s.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("BaseURL is not an http or https URL with a host; set a URL such as https://api.example.com/v1")
	}
	for _, path := range paths {
		if strings.HasSuffix(base.Path, path) {
			return nil, fmt.Errorf("BaseURL ends in %q, which the client adds itself; remove it from BaseURL", path)
		}
	}
	switch {
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("BaseURL has a query or fragment; remove it, and set Query instead of a query")
	case s.Timeout < 0:
		return nil, errors.New("Timeout is negative; set a positive duration, or 0 for the default") //nolint:staticcheck // begins with the name of the option
	case s.IdleTimeout < 0:
		return nil, errors.New("IdleTimeout is negative; set a positive duration, or 0 for the default")
	case !isToken(s.APIKey):
		return nil, errors.New("APIKey contains white space or a control character; remove it")
	case s.TLS != nil && s.HTTPClient != nil:
		return nil, errors.New("TLS and HTTPClient are both set; set TLSClientConfig in the transport of the HTTPClient instead of TLS")
	}
	return base, nil
}

// Ask sends a request and reads the reply. Its context ends at the timeout, and `model` is the provider's name of the first candidate. Ask
// calls `renew` for each part of a streamed reply that it does not pass to the function of [llm.Stream]: see [WithTimeout].
type Ask func(ctx context.Context, renew func(), model string, req llm.Request) (llm.Reply, error)

// Complete implements [llm.Client.Complete]. The client's part is `ask`.
//
// Complete hides secrets in the reply, and converts the error of `ask`: see [Base.fail]. For a request without candidates, it returns an
// error of class [llm.InvalidRequest] and does not call `ask`.
func (b *Base) Complete(ctx context.Context, req llm.Request, ask Ask) (llm.Reply, error) {
	if len(req.Candidates) == 0 {
		return llm.Reply{}, &llm.Error{Class: llm.InvalidRequest, Message: "the request has no candidate; set Candidates"}
	}
	candidate := req.Candidates[0]
	limited, renew, cancel := WithTimeout(ctx, b.Timeout)
	defer cancel()
	tell := llm.Stream(ctx)
	limited = llm.WithStream(limited, func(d llm.Delta) {
		renew()
		tell(d)
		renew() // the time that `tell` takes does not count
	})
	reply, err := ask(limited, renew, candidate.Model, req.To(candidate))
	if err != nil {
		return llm.Reply{}, b.fail(ctx, candidate.Model, err)
	}
	reply = reply.MapText(b.replies.Text)
	reply.Candidate = candidate.Name
	return reply, nil
}
