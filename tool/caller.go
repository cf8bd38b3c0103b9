package tool

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// TokenRequest asks for the access token with which a tool acts for a caller.
type TokenRequest struct {
	// Reference names the caller. It is what the program that sent the message or started the agent wrote into the metadata.
	Reference string
	// Audience says who gets the token: the name of an MCP server, or the name that a Go tool uses. A token for one audience should not be
	// good for another one.
	Audience string
	// Refused reports whether the far side has refused the last token, although it had not expired.
	Refused bool
}

// Token is an access token.
type Token struct {
	// Value is the token, which is sent as "Authorization: Bearer".
	Value string
	// Expires is when the worker asks for another token at the latest. Zero means that the token is for one call.
	Expires time.Time
}

// TokenSource exchanges the reference of a caller for a token, on the worker. It is called concurrently, and not again for a token that has
// not expired. The token is only kept in memory. The error is a [*TokenError] if it is final; any other error lets Temporal try the call
// again.
type TokenSource func(ctx context.Context, r TokenRequest) (Token, error)

// TokenError says that there is no token, and that asking again does not help. If a tool returns it, the tool must not have done anything.
type TokenError struct {
	// Expired says that the caller can cure it by signing in again. The call then waits for a person: see [Result.Question]. Otherwise the
	// model gets the reason as an error result.
	Expired bool
	// Reason says why there is no token. It must not have a secret.
	Reason string
	// SignIn is the URL at which the caller can sign in. Empty means that the text for the person names none.
	SignIn string
}

// Error returns the reason.
func (e *TokenError) Error() string { return e.Reason }

// CallerToken returns the token of the caller for an audience: see [TokenRequest]. `refused` is a token that the audience has just refused;
// it is empty if none was. Only the tool that asks gets the token. It must not return or log it. Without a reference, or a source of tokens on
// the worker, the error is a [*TokenError]. A tool asks before it does anything, and returns the error.
func CallerToken(ctx context.Context, audience, refused string) (string, error) {
	token := InfoFrom(ctx).CallerToken
	if token == nil {
		return "", &TokenError{Reason: "this worker exchanges no references of callers for tokens; set caller_tokens in agents.yaml, or Options.CallerTokens"}
	}
	return token(ctx, audience, refused)
}

// DoAsCaller is [Do] with the token of the caller for an audience (see [CallerToken]) in the header Authorization. If the server answers HTTP
// 401, DoAsCaller asks once for another token and sends the request again, if the body can be read again. A redirect to another host does not
// get the token.
func DoAsCaller(client *http.Client, r *http.Request, audience string) (*http.Response, error) {
	refused := ""
	for {
		token, err := CallerToken(r.Context(), audience, refused)
		if err != nil {
			return nil, err
		}
		authorized := r.Clone(r.Context())
		authorized.Header.Set("Authorization", "Bearer "+token)
		if r.GetBody != nil {
			if authorized.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		response, err := Do(client, authorized)
		var status *HTTPError
		again := refused == "" && errors.As(err, &status) && status.Status == http.StatusUnauthorized
		if !again || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
			return response, err
		}
		refused = token
	}
}
