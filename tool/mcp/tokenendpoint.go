package mcp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/reagent-dev/reagent/tool"
)

// tokenTimeout limits one request to a token endpoint.
const tokenTimeout = 30 * time.Second

// tokenClient returns the client for requests to token endpoints. The library reads at most 1 MiB of an answer.
func tokenClient() *http.Client {
	return &http.Client{
		Timeout:       tokenTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // no other host gets the secret
	}
}

// refusal returns an error that explains an error of the token endpoint. It quotes only the error code, because the rest may have the secret. If
// the endpoint refuses the worker, the error is a [*tool.TokenError] that ends with the cure.
func (o OAuth) refusal(err error, cure string) error {
	refused, answered := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !answered:
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the URL
		}
		return fmt.Errorf("OAuth: no token from %s: %w", o.endpoint(), err)
	case refused.Response.StatusCode >= 500, refused.Response.StatusCode == http.StatusTooManyRequests, refused.Response.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("OAuth: no token from %s: HTTP %d", o.endpoint(), refused.Response.StatusCode)
	}
	return &tool.TokenError{Reason: fmt.Sprintf("OAuth: %s refused the client %q: %s (HTTP %d); %s",
		o.endpoint(), o.ClientID, code(refused), refused.Response.StatusCode, cure)}
}

// code returns the error code of a refusal; the text of the status if there is none.
func code(refused *oauth2.RetrieveError) string {
	if !plainCode(refused.ErrorCode) {
		return http.StatusText(refused.Response.StatusCode)
	}
	return refused.ErrorCode
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
func (o OAuth) endpoint() string {
	u, err := url.Parse(o.TokenURL)
	if err != nil {
		return "the token endpoint"
	}
	return u.Scheme + "://" + u.Host + u.Path
}
