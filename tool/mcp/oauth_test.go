package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

const clientSecret = "s3cret-of-the-worker-0123456789"

// authority is an authorization server with a token endpoint for client credentials, and an MCP server of the SDK that requires its tokens.
type authority struct {
	t      *testing.T
	tokens *httptest.Server
	server *httptest.Server

	mu      sync.Mutex
	broken  http.HandlerFunc  // answers in place of the token endpoint
	valid   map[string]string // user by token
	issued  int
	effects []string
	as      []string // the users of tools/call
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, valid: map[string]string{}}
	a.tokens = httptest.NewServer(http.HandlerFunc(a.token))
	t.Cleanup(a.tokens.Close)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	server := newServer(func(effect string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.effects = append(a.effects, effect)
	}, release)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "tools/call" {
				a.mu.Lock()
				a.as = append(a.as, auth.TokenInfoFromContext(ctx).UserID)
				a.mu.Unlock()
			}
			return next(ctx, method, req)
		}
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	a.server = httptest.NewServer(auth.RequireBearerToken(a.verify, nil)(handler))
	t.Cleanup(a.server.Close)
	return a
}

// token is the token endpoint. It knows one client.
func (a *authority) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	broken := a.broken
	a.mu.Unlock()
	if broken != nil {
		broken(w, r)
		return
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case id != "worker" || secret != clientSecret:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"not %s"}`, secret)
	case r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "tools read" || r.FormValue("resource") != a.server.URL:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_request"}`)
	default:
		a.mu.Lock()
		a.issued++
		a.mu.Unlock()
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, a.allow("the worker"))
	}
}

// allow returns a new token of a user.
func (a *authority) allow(user string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	token := fmt.Sprintf("token-%d-of-%s", len(a.valid), strings.ReplaceAll(user, " ", "-"))
	a.valid[token] = user
	return token
}

// expire lets all tokens expire, before the time that their client knows.
func (a *authority) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for token := range a.valid {
		a.valid[token] = ""
	}
}

func (a *authority) breakTokens(broken http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken = broken
}

func (a *authority) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	user, known := a.valid[token]
	if !known {
		return nil, auth.ErrInvalidToken
	}
	end := time.Now().Add(time.Hour)
	if user == "" {
		end = time.Now().Add(-time.Hour)
	}
	return &auth.TokenInfo{UserID: user, Expiration: end}, nil
}

func (a *authority) state() (issued int, effects, as []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issued, a.effects, a.as
}

func (a *authority) oauth(secret func() (string, error)) mcp.Server {
	return mcp.Server{Name: "orders", URL: a.server.URL, Logger: slog.New(slog.DiscardHandler), Credential: mcp.OAuth{
		ClientID: "worker", ClientSecret: secret, TokenURL: a.tokens.URL + "/token?tenant=hidden", Scopes: []string{"tools", "read"}, Resource: a.server.URL,
	}.Credential()}
}

func right() (string, error) { return clientSecret, nil }

func (a *authority) connect(server mcp.Server) *mcp.Source {
	source, err := mcp.Connect(a.t.Context(), server)
	require.NoError(a.t, err)
	a.t.Cleanup(func() { require.NoError(a.t, source.Close()) })
	return source
}

func call(ctx context.Context, tl tool.Tool, key string) called {
	return <-start(tool.WithInfo(ctx, tool.Info{Key: key}), tl, "")
}

// One token serves all calls until it expires. An expired token is replaced once, and the call that met it runs once.
func TestOAuthTokenIsReplacedOnceWhenItHasExpired(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	create := find(t, a.connect(a.oauth(right)), "create")
	for _, key := range []string{"one", "two"} {
		require.NoError(t, call(t.Context(), create, key).err)
	}
	issued, _, _ := a.state()
	require.Equal(t, 1, issued)

	a.expire()
	require.NoError(t, call(t.Context(), create, "three").err)
	issued, effects, as := a.state()
	require.Equal(t, 2, issued)
	require.Equal(t, []string{"create one", "create two", "create three"}, effects)
	require.Equal(t, []string{"the worker", "the worker", "the worker"}, as)
}

// A client that the authorization server refuses is a final error. It names what to correct, and nothing secret.
func TestRefusedOAuthClientIsAFinalError(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	const wrong = "wr0ng-secret-of-the-worker-98765"
	_, err := mcp.Connect(t.Context(), a.oauth(func() (string, error) { return wrong, nil }))
	require.ErrorContains(t, err, `/token refused the client "worker": invalid_client (HTTP 401); correct client_id, client_secret, scopes or resource`)
	require.ErrorAs(t, err, new(*tool.TokenError))
	require.NotContains(t, err.Error(), wrong)
	require.NotContains(t, err.Error(), "hidden", "the query of the URL")

	secret := clientSecret
	var mu sync.Mutex
	create := find(t, a.connect(a.oauth(func() (string, error) {
		mu.Lock()
		defer mu.Unlock()
		return secret, nil
	})), "create")
	a.expire()
	mu.Lock()
	secret = wrong
	mu.Unlock()
	got := call(t.Context(), create, "one")
	require.ErrorAs(t, got.err, new(*tool.TokenError), "no attempt can succeed")
	require.NotErrorIs(t, got.err, tool.ErrOutcomeUnknown)
	require.NotContains(t, got.err.Error(), wrong)

	a.breakTokens(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no "+wrong, http.StatusForbidden) })
	got = call(t.Context(), create, "two")
	require.ErrorAs(t, got.err, new(*tool.TokenError))
	require.ErrorContains(t, got.err, "Forbidden (HTTP 403)")
	require.NotContains(t, got.err.Error(), wrong)
}

// A token endpoint that does not answer leaves the call to a later attempt.
func TestCallWaitsForTheTokenEndpoint(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	create := find(t, a.connect(a.oauth(right)), "create")
	a.expire()
	for want, broken := range map[string]http.HandlerFunc{
		"/token: HTTP 503": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"/token: EOF":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		a.breakTokens(broken)
		got := call(t.Context(), create, "one")
		require.ErrorContains(t, got.err, "OAuth: no token from "+a.tokens.URL+want)
		require.NotErrorIs(t, got.err, tool.ErrOutcomeUnknown)
		require.False(t, errors.As(got.err, new(*tool.TokenError)), "another attempt may succeed")
	}
	a.breakTokens(nil)
	require.NoError(t, call(t.Context(), create, "one").err)
	_, effects, _ := a.state()
	require.Equal(t, []string{"create one"}, effects)
}

// Each call has the token of its caller, also at a server whose sessions belong to one user. The list of tools is read with the token of the
// worker.
func TestCallHasTheTokenOfItsCaller(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]string{"newest revision": "", "sessions": "2025-11-25"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t)
			server := a.oauth(right)
			server.CallerToken, server.Protocol = true, protocol
			create := find(t, a.connect(server), "create")
			current := map[string]string{"ann": a.allow("ann"), "bob": a.allow("bob")}
			as := func(user, key string) called {
				return <-start(tool.WithInfo(t.Context(), tool.Info{Key: key, CallerToken: func(_ context.Context, audience, refused string) (string, error) {
					if audience != "orders" {
						return "", errors.New("audience " + audience)
					}
					if refused != "" && user == "ann" {
						current[user] = a.allow(user)
					}
					return current[user], nil
				}}), create, "")
			}
			for i, user := range []string{"ann", "bob", "ann"} {
				require.NoError(t, as(user, fmt.Sprint(i)).err)
			}
			a.expire()
			require.NoError(t, as("ann", "3").err, "an expired token is replaced once")
			got := as("bob", "4")
			var refusal *tool.TokenError
			require.ErrorAs(t, got.err, &refusal)
			require.Equal(t, "the server refuses the token of the caller (HTTP 401 Unauthorized)", refusal.Reason)
			_, effects, users := a.state()
			require.Equal(t, []string{"ann", "bob", "ann", "ann"}, users)
			require.Len(t, effects, 4)

			require.ErrorAs(t, call(t.Context(), create, "5").err, new(*tool.TokenError), "a worker without a source of tokens")
		})
	}
}
