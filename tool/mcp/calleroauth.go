package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/reagent-dev/reagent/tool"
)

// Names of RFC 8693 and RFC 7523.
const (
	accessTokenType = "urn:ietf:params:oauth:token-type:access_token" //nolint:gosec // a name, not a token
	jwtBearerGrant  = "urn:ietf:params:oauth:grant-type:jwt-bearer"   //nolint:gosec // a name, not a token
)

// maxLifetime limits how long a token of a caller is kept, whatever the authorization server says.
const maxLifetime = 24 * time.Hour

// CallerOAuth has what a worker needs to get the tokens of callers for an MCP server by the token exchange of OAuth 2 (RFC 8693).
type CallerOAuth struct {
	// OAuth has the authorization server that knows the caller, the worker's credentials for it, and the scopes. The worker sends the secret in
	// the form (client_secret_post). Resource is the URL of the MCP server; it is required.
	OAuth
	// Audience is the name of the MCP server at the authorization server. With Server, it is the issuer of that server. Required.
	Audience string
	// SubjectTokenType is the type of the token that stands for the caller, as a URI. Empty means an ID token.
	SubjectTokenType string
	// Server has the MCP server's own authorization server, and the worker's credentials for it. If it is set, the exchange gives an identity
	// assertion (ID-JAG), and Server gives the access token for this assertion (RFC 7523). In MCP, this is called Enterprise-Managed
	// Authorization. The scopes and the resource of Server are ignored, because the assertion has them.
	Server *OAuth
}

// Source returns the source of the callers' tokens for this MCP server. `subject` gives the token that stands for a caller, such as the ID token
// of the session that the reference names; nil means that the reference itself is this token. If the authorization server does not accept it, the
// source asks `subject` for another one, as for a refused token. If that one is not accepted either, the error is a [*tool.TokenError] that asks
// the caller to sign in.
func (o CallerOAuth) Source(subject tool.TokenSource) tool.TokenSource {
	e := &exchange{CallerOAuth: o, client: tokenClient()}
	if subject == nil {
		return func(ctx context.Context, r tool.TokenRequest) (tool.Token, error) { return e.token(ctx, r.Reference) }
	}
	return func(ctx context.Context, r tool.TokenRequest) (tool.Token, error) {
		for {
			of, err := subject(ctx, r)
			if err != nil {
				return tool.Token{}, err
			}
			token, err := e.token(ctx, of.Value)
			if problem, ok := errors.AsType[*tool.TokenError](err); !ok || !problem.Expired || r.Refused {
				return token, err
			}
			r.Refused = true // the subject may have kept it for too long
		}
	}
}

type exchange struct {
	CallerOAuth

	client *http.Client
}

// token returns the access token for the MCP server of the caller for whom the subject token stands.
func (e *exchange) token(ctx context.Context, subject string) (tool.Token, error) {
	kind := accessTokenType
	if e.Server != nil {
		kind = oauthex.TokenTypeIDJAG
	}
	given, err := e.exchange(ctx, subject, kind)
	if err == nil && e.Server != nil {
		given, err = e.Server.grant(ctx, e.client, given.AccessToken)
	}
	if err != nil {
		return tool.Token{}, err
	}
	if given.Type() != "Bearer" {
		return tool.Token{}, &tool.TokenError{Reason: fmt.Sprintf("OAuth: %s gave a token that is not for the header Authorization: Bearer; "+
			"ask for another with audience, scopes or resource of caller_oauth", cmp.Or(e.Server, &e.OAuth).endpoint())}
	}
	token := tool.Token{Value: given.AccessToken, Expires: given.Expiry}
	if latest := time.Now().Add(maxLifetime); token.Expires.After(latest) {
		token.Expires = latest
	}
	return token, nil
}

// exchange asks for a token of a kind in exchange for the one that stands for the caller.
func (e *exchange) exchange(ctx context.Context, subject, kind string) (*oauth2.Token, error) {
	secret, err := e.ClientSecret()
	if err != nil {
		return nil, fmt.Errorf("OAuth: %w", err)
	}
	given, err := oauthex.ExchangeToken(ctx, e.TokenURL, &oauthex.TokenExchangeRequest{
		RequestedTokenType: kind, Audience: e.Audience, Resource: e.Resource, Scope: e.Scopes,
		SubjectToken: subject, SubjectTokenType: cmp.Or(e.SubjectTokenType, oauthex.TokenTypeIDToken),
	}, &oauthex.ClientCredentials{ClientID: e.ClientID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: secret}}, e.client)
	if err != nil {
		return nil, e.problem(err)
	}
	if issued := given.Extra("issued_token_type"); kind == oauthex.TokenTypeIDJAG && issued != kind {
		return nil, &tool.TokenError{Reason: fmt.Sprintf("OAuth: %s gave no identity assertion (ID-JAG) for the authorization server of the MCP server; "+
			"let it issue them to the client %q, or remove authorization_server of caller_oauth", e.endpoint(), e.ClientID)}
	}
	return given, nil
}

// notAccepted are the error codes for a subject token that does not hold. RFC 8693 says invalid_request; other servers say more exactly what
// they mean.
var notAccepted = []string{"invalid_request", "invalid_grant", "invalid_token"}

func (e *exchange) problem(err error) error {
	told := e.refusal(err, "correct client_id, client_secret, audience, scopes or resource of caller_oauth of the MCP server")
	refused, _ := errors.AsType[*oauth2.RetrieveError](err)
	if final, ok := errors.AsType[*tool.TokenError](told); ok && slices.Contains(notAccepted, refused.ErrorCode) {
		final.Expired = true
		final.Reason = fmt.Sprintf("OAuth: %s does not accept the sign-in of the caller: %s (HTTP %d)", e.endpoint(), refused.ErrorCode, refused.Response.StatusCode)
	}
	return told
}

// grant gets the access token for an identity assertion.
func (o OAuth) grant(ctx context.Context, client *http.Client, assertion string) (*oauth2.Token, error) {
	secret, err := o.ClientSecret()
	if err != nil {
		return nil, fmt.Errorf("OAuth: %w", err)
	}
	conf := oauth2.Config{ClientID: o.ClientID, ClientSecret: secret, Endpoint: oauth2.Endpoint{TokenURL: o.TokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	token, err := conf.Exchange(context.WithValue(ctx, oauth2.HTTPClient, client), "",
		oauth2.SetAuthURLParam("grant_type", jwtBearerGrant), oauth2.SetAuthURLParam("assertion", assertion))
	if err != nil {
		return nil, o.refusal(err, "let the authorization server of the MCP server accept the caller, or correct authorization_server or audience of caller_oauth")
	}
	return token, nil
}
