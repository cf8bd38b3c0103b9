package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"

	"github.com/reagent-dev/reagent/internal/flight"
)

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
	return (&oauthClient{OAuth: o, client: tokenClient()}).headers
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
		return nil, c.refusal(err, "correct client_id, client_secret, scopes or resource of the MCP server")
	}
	return token, nil
}
