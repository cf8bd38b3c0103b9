package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"

	"github.com/reagent-dev/reagent/internal/flight"
	"github.com/reagent-dev/reagent/tool"
)

// tokenTimeout limits one request to a token endpoint.
const tokenTimeout = 30 * time.Second

// OAuth has what a worker needs to get access tokens for itself, by the client credentials grant of OAuth 2.
type OAuth struct {
	// ClientID is the name of the worker at the authorization server. Required.
	ClientID string
	// ClientSecret returns the secret. It is called for each new token, so the secret may change. Required.
	ClientSecret func() (string, error)
	// TokenURL is the token endpoint. It is not discovered from the MCP server, which could then say who gets the secret. Required.
	TokenURL string
	// Scopes are asked for; empty means those that the authorization server gives.
	Scopes []string
	// Resource is the URL of the MCP server, for which the token is: see RFC 8707. Empty means that it is not sent.
	Resource string
}

// Credential returns a function for [Server.Credential]. It gets a token when it is needed, keeps it in memory until it expires, and gets
// another one if the server refuses it. If the token endpoint refuses the client, the error is a [*tool.TokenError]. Any other error, such as
// that of an endpoint that does not answer, lets Temporal try the call again.
func (o OAuth) Credential() func(ctx context.Context, refused *map[string]string) (map[string]string, error) {
	client := http.Client{
		Timeout:       tokenTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // no other host gets the secret
	}
	return (&oauthClient{OAuth: o, client: &client}).headers
}

// oauthClient keeps the token. It is safe for concurrent use.
type oauthClient struct {
	OAuth
	client  *http.Client
	running singleflight.Group

	mu    sync.Mutex
	token *oauth2.Token // nil before the first one
}

func (c *oauthClient) headers(ctx context.Context, refused *map[string]string) (map[string]string, error) {
	known := func() map[string]string {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.token.Valid() || refused != nil && (*refused)[authorization] == bearer(c.token.AccessToken) {
			return nil
		}
		return map[string]string{authorization: bearer(c.token.AccessToken)}
	}
	if headers := known(); headers != nil {
		return headers, nil
	}
	return flight.Do(ctx, &c.running, "", func(ctx context.Context) (map[string]string, error) {
		if headers := known(); headers != nil {
			return headers, nil // of the request that has just ended
		}
		token, err := c.get(ctx)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.token = token
		return map[string]string{authorization: bearer(token.AccessToken)}, nil
	})
}

const authorization = "Authorization"

func bearer(token string) string { return "Bearer " + token }

func (c *oauthClient) get(ctx context.Context) (*oauth2.Token, error) {
	secret, err := c.ClientSecret()
	if err != nil {
		return nil, fmt.Errorf("OAuth: %w", err)
	}
	conf := clientcredentials.Config{ClientID: c.ClientID, ClientSecret: secret, TokenURL: c.TokenURL, Scopes: c.Scopes}
	if c.Resource != "" {
		conf.EndpointParams = url.Values{"resource": {c.Resource}}
	}
	token, err := conf.Token(context.WithValue(ctx, oauth2.HTTPClient, c.client))
	if err != nil {
		return nil, c.explain(err)
	}
	return token, nil
}

// explain puts an error of the token endpoint into plain words. It quotes only the error code, because the rest may have the secret.
func (c *oauthClient) explain(err error) error {
	refusal, answered := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !answered:
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the URL
		}
		return fmt.Errorf("OAuth: no token from %s: %w", c.endpoint(), err)
	case refusal.Response.StatusCode >= 500, refusal.Response.StatusCode == http.StatusTooManyRequests, refusal.Response.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("OAuth: no token from %s: HTTP %d", c.endpoint(), refusal.Response.StatusCode)
	}
	code := refusal.ErrorCode
	if !plainCode(code) {
		code = http.StatusText(refusal.Response.StatusCode)
	}
	return &tool.TokenError{Reason: fmt.Sprintf("OAuth: %s refused the client %q: %s (HTTP %d); correct client_id, client_secret, scopes or resource of the MCP server",
		c.endpoint(), c.ClientID, code, refusal.Response.StatusCode)}
}

// plainCode reports whether a text can be an error code of OAuth, such as invalid_client.
func plainCode(code string) bool {
	for _, r := range code {
		if r != '_' && (r < 'a' || r > 'z') {
			return false
		}
	}
	return code != "" && len(code) <= 40
}

// endpoint returns the token URL without what may be secret in it.
func (c *oauthClient) endpoint() string {
	u, err := url.Parse(c.TokenURL)
	if err != nil {
		return "the token endpoint"
	}
	return u.Scheme + "://" + u.Host + u.Path
}
