package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/testkit/signon"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Secrets of the far side, and a text that is none, with which the searches are checked.
const (
	oauthSecret = "sec-7c1e55d0b94f6d6f"
	exchangeKey = "key-6f1d7c55e0b94f6d"
	workerToken = "tok-worker-0b94f6d6f1d7"
	control     = "tok-control-5e0b94f6d6f1"
)

// tokenOf returns the token of a caller.
func tokenOf(user string) string { return "tok-" + user + "-94f6d6f1d7c55e0b" }

// shop is an MCP server that requires a token, the token endpoint for the worker, and the endpoint that exchanges references of callers. Beside it
// is the till, an MCP server that requires tokens of an authorization server, and for which the exchange gives ID tokens.
type shop struct {
	*httptest.Server

	login *signon.Server

	mu       sync.Mutex
	signedIn map[string]bool
	users    []string // of the tool calls
	asked    []string // references that were exchanged
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{login: signon.New(), signedIn: map[string]bool{"ann": true, "bob": true}}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "orders", InputSchema: world.AnyObject}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		user := auth.TokenInfoFromContext(ctx).UserID
		s.mu.Lock()
		defer s.mu.Unlock()
		s.users = append(s.users, user)
		text := fmt.Sprintf("orders of %s, seen with %s and %s", user, tokenOf(user), control)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		for _, user := range []string{"ann", "bob", "carl"} {
			if token == tokenOf(user) {
				return &auth.TokenInfo{UserID: user, Expiration: time.Now().Add(time.Hour)}, nil
			}
		}
		if token == workerToken {
			return &auth.TokenInfo{UserID: "worker", Expiration: time.Now().Add(time.Hour)}, nil
		}
		return nil, auth.ErrInvalidToken
	}
	mux := http.NewServeMux()
	till := mcp.NewServer(&mcp.Implementation{Name: "till", Version: "1"}, nil)
	till.AddTool(&mcp.Tool{Name: "receipts", InputSchema: world.AnyObject}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text := fmt.Sprintf("receipts of %s, seen with %s", auth.TokenInfoFromContext(ctx).UserID, r.Extra.Header.Get("Authorization"))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	verifyTill := func(ctx context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
		if token == workerToken {
			return verify(ctx, token, r)
		}
		return s.login.Verify(ctx, token, r)
	}
	mux.Handle("/till", auth.RequireBearerToken(verifyTill, nil)(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return till }, nil)))
	mux.Handle("/mcp", auth.RequireBearerToken(verify, nil)(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)))
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if id, secret, _ := r.BasicAuth(); id != "worker" || secret != oauthSecret {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"invalid_client"}`)
			return
		}
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, workerToken)
	})
	mux.HandleFunc("/exchange", s.exchange)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Cleanup(s.login.Close)
	return s
}

func (s *shop) exchange(w http.ResponseWriter, r *http.Request) {
	var in struct{ Reference, Audience string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Audience != "shop" && in.Audience != "till" || r.Header.Get("X-Key") != exchangeKey {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, in.Reference)
	user := strings.TrimPrefix(in.Reference, "session-of-")
	if !s.signedIn[user] {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"the session is over","sign_in_url":"https://login.example.com/start"}`)
		return
	}
	if in.Audience == "till" {
		fmt.Fprintf(w, `{"access_token":%q}`, s.login.SignIn(user))
		return
	}
	fmt.Fprintf(w, `{"access_token":%q,"expires_in":3600}`, tokenOf(user))
}

func (s *shop) signIn(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signedIn[user] = true
}

// seen returns the users of the tool calls, and the references that were exchanged.
func (s *shop) seen() (users, asked []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.users), slices.Clone(s.asked)
}

// A tool acts for the caller of its message and for nobody else, also in a sub-agent, after a crash, in the next run and after a reset, which
// asks for no token. Its token is what the exchange gave, or what an authorization server gave for that. A caller whose sign-in has expired is
// asked for by name, and the call runs when he has signed in. No token is in Temporal's database, in a log, in a span or in the output of a
// command. The searches find a text that looks like a token.
func TestTokensOfCallersStayOnTheWorker(t *testing.T) {
	collector := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	t.Setenv("SHOP_SECRET", oauthSecret)
	t.Setenv("EXCHANGE_KEY", exchangeKey)
	t.Setenv("LOGIN_SECRET", signon.Secret)
	t.Setenv("GRANT_SECRET", signon.GrantSecret)
	far := newShop(t)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch id := fmt.Sprint("call-", len(req.Messages)); {
		case last.Role == llm.Tool:
			return llmtest.Say("It says: " + last.Content), nil
		case strings.Contains(last.Content, "ask the clerk"):
			return llmtest.Call(llmtest.ToolCall(id, "clerk", `{"task":"list orders"}`)), nil
		case strings.Contains(last.Content, "receipts"):
			return llmtest.Call(llmtest.ToolCall(id, "receipts", `{}`)), nil
		case strings.Contains(last.Content, "orders"):
			return llmtest.Call(llmtest.ToolCall(id, "orders", `{}`)), nil
		}
		return llmtest.Say("Hello"), nil
	}, nil, "")
	var serverLog bytes.Buffer
	database := filepath.Join(t.TempDir(), "dev.db")
	own, err := devserver.Start(t.Context(), devserver.Options{DBFilename: database, LogTo: &serverLog})
	require.NoError(t, err)
	defer own.Stop()
	w.MoveTo(own)
	w.WriteConfig(fmt.Sprintf(`task_queue: %s
models:
  main: {model: scripted, base_url: %q}
mcp_servers:
  shop:
    url: %q
    oauth: {client_id: worker, client_secret: "${SHOP_SECRET}", token_url: %q}
    caller_token: true
  till:
    url: %q
    oauth: {client_id: worker, client_secret: "${SHOP_SECRET}", token_url: %q}
    caller_oauth:
      client_id: %s
      client_secret: ${LOGIN_SECRET}
      token_url: %q
      audience: %q
      resource: %q
      scopes: [%s]
      authorization_server: {client_id: %s, client_secret: "${GRANT_SECRET}", token_url: %q}
caller_tokens:
  url: %q
  headers: {X-Key: "${EXCHANGE_KEY}"}
agents:
  x: {model: main, tools: [shop.*, till.*], agents: [clerk]}
  clerk: {model: main, tools: [shop.*]}
`, w.Queue, w.Model.URL, far.URL+"/mcp", far.URL+"/token", far.URL+"/till", far.URL+"/token",
		signon.ClientID, far.login.Login(), signon.Issuer, signon.Resource, signon.Scope, signon.ClientID, far.login.Grant(), far.URL+"/exchange"))
	first := w.Worker("--log-level", "debug")
	var said strings.Builder
	starter := func(command ...string) string {
		out, errs, _ := w.Starter(command...)
		said.WriteString(out + errs)
		return out + errs
	}
	as := func(user string) string { return "reagent.caller_ref=session-of-" + user }
	require.Contains(t, starter("run", "--chat", "-a", "x", "--id", "c1", "hello"), "Hello")
	require.Contains(t, starter("send", "--metadata", as("ann"), "c1", "my orders?"), "orders of ann, seen with [hidden]")
	require.Contains(t, starter("send", "--metadata", as("bob"), "c1", "my orders?"), "orders of bob, seen with [hidden]")
	require.Contains(t, starter("send", "c1", "whose orders?"), "not run: no token of the caller")
	require.Contains(t, starter("send", "--metadata", as("ann"), "c1", "ask the clerk"), "orders of ann")
	require.Contains(t, starter("send", "--metadata", "reagent.caller_ref=eyJhbGciOi.x.y", "c1", "orders?"), "must be a reference, never a token")
	users, asked := far.seen()
	require.Equal(t, []string{"ann", "bob", "ann"}, users)
	require.Equal(t, []string{"session-of-ann", "session-of-bob"}, asked, "a token is kept until it expires")
	for _, user := range []string{"ann", "bob", "ann"} {
		require.Contains(t, starter("send", "--metadata", as(user), "c1", "my receipts?"), "receipts of "+user+", seen with Bearer [hidden]")
	}
	require.Len(t, far.login.Tokens("access"), 2, "a token that was exchanged is kept, too")

	w.Roll("c1")
	starter("send", "--detach", "--metadata", as("carl"), "c1", "my orders?")
	w.Eventually("the call waits for carl", func() bool {
		return strings.Contains(starter("inbox"), "Sign in again at https://login.example.com/start")
	})
	first.Kill()
	second := w.Worker("--log-level", "debug")
	far.signIn("carl")
	starter("answer", "c1", "done")
	w.Eventually("the call has run for carl", func() bool { return strings.Contains(starter("show", "c1"), "orders of carl") })

	before, askedBefore := far.seen()
	transcript := w.Show("c1").Lines()
	runs := w.Runs("c1")
	w.Reset("c1", "", 1)
	w.Eventually("the reset run has recalled all", func() bool { return w.Runs("c1") > runs && slices.Equal(transcript, w.Show("c1").Lines()) })
	after, askedAfter := far.seen()
	require.Equal(t, before, after, "nothing ran twice")
	require.Equal(t, askedBefore, askedAfter, "a recalled call needs no token")
	require.Equal(t, "carl", after[len(after)-1])

	w.Eventually("spans with content have come", func() bool { return strings.Contains(spanTexts(collector), control) })
	second.Terminate()
	w.Eventually("the worker has stopped", second.Ended)
	own.Stop()
	places := map[string]string{
		"commands": said.String(), "log": first.Output() + second.Output() + serverLog.String(), "spans": spanTexts(collector), "database": "",
	}
	for _, name := range []string{database, database + "-wal"} {
		content, err := os.ReadFile(name)
		if !os.IsNotExist(err) {
			require.NoError(t, err)
			places["database"] += string(content)
		}
	}
	for place, text := range places {
		if place != "log" {
			require.Contains(t, text, control, "the search of the %s finds what is there", place)
		}
		for _, secret := range append(far.login.Secrets(), tokenOf("ann"), tokenOf("bob"), tokenOf("carl"), workerToken, oauthSecret, exchangeKey) {
			require.False(t, strings.Contains(text, secret), "the %s has %s", place, secret)
		}
	}
	require.Contains(t, places["log"], "c1")
}

func spanTexts(r *receiver) string {
	all, _ := r.spans()
	var b strings.Builder
	for _, s := range all {
		b.WriteString(prototext.Format(s))
	}
	return b.String()
}
