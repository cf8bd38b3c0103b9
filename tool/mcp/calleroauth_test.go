package mcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/callertoken"
	"github.com/reagent-dev/reagent/internal/testkit/signon"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// ways are the names of both ways from an ID token to the access token of an MCP server: see [exchanged].
var ways = []string{"access token", "identity assertion"}

func secretOf(text string) func() (string, error) { return func() (string, error) { return text, nil } }

// exchanged returns the settings for each way.
func exchanged(login *signon.Server) map[string]mcp.CallerOAuth {
	direct := mcp.CallerOAuth{Audience: signon.Audience, OAuth: mcp.OAuth{
		ClientID: signon.ClientID, ClientSecret: secretOf(signon.Secret), TokenURL: login.Login(), Scopes: []string{signon.Scope}, Resource: signon.Resource,
	}}
	asserted := direct
	asserted.Audience = signon.Issuer
	asserted.Server = &mcp.OAuth{ClientID: signon.ClientID, ClientSecret: secretOf(signon.GrantSecret), TokenURL: login.Grant()}
	return map[string]mcp.CallerOAuth{"access token": direct, "identity assertion": asserted}
}

// sessions is a source that keeps the ID token of each session until it is told that it was refused.
type sessions struct {
	login *signon.Server
	over  bool // nobody can sign in again

	mu   sync.Mutex
	kept map[string]string
}

func (s *sessions) token(_ context.Context, r tool.TokenRequest) (tool.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[r.Reference] == "" || r.Refused && !s.over {
		s.kept[r.Reference] = s.login.SignIn(r.Reference)
	}
	return tool.Token{Value: s.kept[r.Reference]}, nil
}

func newLogin(t *testing.T) (*signon.Server, *sessions) {
	login := signon.New()
	t.Cleanup(login.Close)
	return login, &sessions{login: login, kept: map[string]string{}}
}

// Two callers have a token each at one MCP server. It is kept until it expires or the server refuses it; then the worker gets another one, from a
// new ID token if the old one has expired, and the call runs once.
func TestCallersExchangeTheirIDTokens(t *testing.T) {
	t.Parallel()
	for _, name := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			login, ids := newLogin(t)
			var users []string
			server := sdk.NewServer(&sdk.Implementation{Name: "till", Version: "1"}, nil)
			server.AddTool(&sdk.Tool{Name: "receipts", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				users = append(users, auth.TokenInfoFromContext(ctx).UserID) // the calls come one after another
				return &sdk.CallToolResult{}, nil
			})
			far := httptest.NewServer(auth.RequireBearerToken(login.Verify, nil)(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)))
			t.Cleanup(far.Close)
			cache := callertoken.NewCache(exchanged(login)[name].Source(ids.token))
			own, err := cache.Token(t.Context(), "worker", "till", "")
			require.NoError(t, err)
			source, err := mcp.Connect(t.Context(), mcp.Server{
				Name: "till", URL: far.URL, CallerToken: true, Headers: map[string]string{"Authorization": "Bearer " + own}, Logger: slog.New(slog.DiscardHandler),
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, source.Close()) })
			receipts := find(t, source, "receipts")
			as := func(user string) {
				t.Helper()
				info := tool.Info{Key: user, CallerToken: func(ctx context.Context, audience, refused string) (string, error) {
					return cache.Token(ctx, user, audience, refused)
				}}
				require.NoError(t, (<-start(tool.WithInfo(t.Context(), info), receipts, "")).err)
			}
			for _, user := range []string{"ann", "bob", "ann", "bob"} {
				as(user)
			}
			require.Equal(t, []string{"ann", "bob", "ann", "bob"}, users)
			require.Len(t, login.Tokens("access"), 3, "one for each caller, and the worker's")

			login.Expire("access")
			as("ann")
			login.Expire("access")
			login.Expire("id")
			as("bob")
			require.Equal(t, []string{"ann", "bob"}, users[4:])
			require.Len(t, login.Tokens("access"), 5)
		})
	}
}

// A caller whose ID token is not accepted, also when the source was asked for another one, has to sign in. The source is not asked a third time.
func TestCallerWhoseIDTokenHasExpiredSignsIn(t *testing.T) {
	t.Parallel()
	for _, name := range ways {
		login, ids := newLogin(t)
		source := exchanged(login)[name].Source(ids.token)
		_, err := source(t.Context(), tool.TokenRequest{Reference: "ann"})
		require.NoError(t, err)
		ids.over = true
		login.Expire("id")
		before := login.Asked()
		_, err = source(t.Context(), tool.TokenRequest{Reference: "ann"})
		var problem *tool.TokenError
		require.ErrorAs(t, err, &problem)
		require.True(t, problem.Expired)
		require.Contains(t, problem.Reason, "/token does not accept the sign-in of the caller: invalid_request (HTTP 400)")
		require.False(t, login.Quotes(err.Error()), err)
		require.Equal(t, before+2, login.Asked())

		ids.over = false // she has signed in
		_, err = source(t.Context(), tool.TokenRequest{Reference: "ann"})
		require.NoError(t, err)
	}
}

// A reference that the authorization server issued itself is exchanged as it is.
func TestReferenceCanBeTheSubjectToken(t *testing.T) {
	t.Parallel()
	login, _ := newLogin(t)
	token, err := exchanged(login)["access token"].Source(nil)(t.Context(), tool.TokenRequest{Reference: login.SignIn("ann")})
	require.NoError(t, err)
	require.Equal(t, []string{token.Value}, login.Tokens("access"))
	require.False(t, token.Expires.IsZero())
}

// Whatever is wrong is a final error that says what to correct, or leaves the call to a later attempt. No error quotes a token or a secret.
func TestExchangeThatFailsIsExplained(t *testing.T) {
	t.Parallel()
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	for name, c := range map[string]struct {
		way    string
		change func(*mcp.CallerOAuth)
		broken http.HandlerFunc
		reason string
		final  bool
	}{
		"wrong secret":          {"access token", func(o *mcp.CallerOAuth) { o.ClientSecret = secretOf(signon.GrantSecret) }, nil, `refused the client "worker": invalid_client (HTTP 401); correct client_id`, true},
		"wrong secret at grant": {"identity assertion", func(o *mcp.CallerOAuth) { o.Server.ClientSecret = secretOf(signon.Secret) }, nil, "invalid_client (HTTP 401); let the authorization server", true},
		"wrong audience":        {"access token", func(o *mcp.CallerOAuth) { o.Audience = signon.Issuer }, nil, "invalid_target (HTTP 400)", true},
		"wrong resource":        {"identity assertion", func(o *mcp.CallerOAuth) { o.Resource = "https://other.example.com" }, nil, "invalid_target (HTTP 400)", true},
		"wrong scope":           {"access token", func(o *mcp.CallerOAuth) { o.Scopes = nil }, nil, "invalid_scope (HTTP 400)", true},
		"not an assertion": {"identity assertion", func(*mcp.CallerOAuth) {}, says(200, `{"access_token":"tok-x","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer"}`),
			"gave no identity assertion (ID-JAG)", true},
		"not a bearer token": {"access token", func(*mcp.CallerOAuth) {}, says(200, `{"access_token":"tok-x","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"DPoP"}`),
			"is not for the header Authorization: Bearer", true},
		"a redirect":       {"access token", func(*mcp.CallerOAuth) {}, http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect).ServeHTTP, "HTTP 307", true},
		"busy":             {"access token", func(*mcp.CallerOAuth) {}, says(429, `{"error":"invalid_request"}`), "HTTP 429", false},
		"broken":           {"identity assertion", func(*mcp.CallerOAuth) {}, says(503, `{"error":"invalid_request"}`), "HTTP 503", false},
		"cut":              {"access token", func(*mcp.CallerOAuth) {}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", false},
		"no JSON":          {"access token", func(*mcp.CallerOAuth) {}, says(200, "tok-x"), "no token from", false},
		"no token":         {"access token", func(*mcp.CallerOAuth) {}, says(200, `{"token":"tok-x"}`), "no token from", false},
		"no type":          {"access token", func(*mcp.CallerOAuth) {}, says(200, `{"access_token":"tok-x","token_type":"Bearer"}`), "issued_token_type", false},
		"too much":         {"access token", func(*mcp.CallerOAuth) {}, says(200, `{"access_token":"`+strings.Repeat("tok-x", 1<<20)+`"}`), "no token from", false},
		"no secret to use": {"access token", func(o *mcp.CallerOAuth) { o.ClientSecret = func() (string, error) { return "", fmt.Errorf("not set") } }, nil, "OAuth: not set", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			login, ids := newLogin(t)
			login.Break(c.broken)
			way := exchanged(login)[c.way]
			c.change(&way)
			_, err := way.Source(ids.token)(t.Context(), tool.TokenRequest{Reference: "ann"})
			require.ErrorContains(t, err, c.reason)
			require.NotContains(t, err.Error(), "tok-x")
			require.False(t, login.Quotes(err.Error()), err)
			problem := (*tool.TokenError)(nil)
			if c.final {
				require.ErrorAs(t, err, &problem)
				require.False(t, problem.Expired)
			} else {
				require.NotErrorAs(t, err, &problem)
			}
		})
	}
}

// An assertion that the MCP server's authorization server does not accept is no matter of the caller's sign-in.
func TestRefusedAssertionIsAFinalError(t *testing.T) {
	t.Parallel()
	login, ids := newLogin(t)
	way := exchanged(login)["identity assertion"]
	secret := way.Server.ClientSecret
	way.Server.ClientSecret = func() (string, error) {
		login.Expire("assertion") // on its way
		return secret()
	}
	_, err := way.Source(ids.token)(t.Context(), tool.TokenRequest{Reference: "ann"})
	var problem *tool.TokenError
	require.ErrorAs(t, err, &problem)
	require.False(t, problem.Expired)
	require.ErrorContains(t, err, "invalid_grant (HTTP 400); let the authorization server of the MCP server accept the caller")
	require.False(t, login.Quotes(err.Error()), err)
}

// The stand-in refuses a request that lacks any field, so that what it answers shows that the field was sent.
func TestStandInRefusesRequestsThatLackAField(t *testing.T) {
	t.Parallel()
	login, _ := newLogin(t)
	whole := map[string]string{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": signon.ClientID, "client_secret": signon.Secret,
		"subject_token": login.SignIn("ann"), "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
		"requested_token_type": "urn:ietf:params:oauth:token-type:access_token", "audience": signon.Audience, "resource": signon.Resource, "scope": signon.Scope,
	}
	status := func(without string) int {
		form := url.Values{}
		for _, name := range slices.Sorted(maps.Keys(whole)) {
			if name != without {
				form.Set(name, whole[name])
			}
		}
		response, err := http.PostForm(login.Login(), form)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, http.StatusOK, status(""))
	for name := range whole {
		require.GreaterOrEqual(t, status(name), 400, name)
	}
}
