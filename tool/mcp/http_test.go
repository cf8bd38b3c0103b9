package mcp_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// site is an HTTP server with an MCP server. deploy replaces the MCP server, as the deployment of a new version does.
type site struct {
	*httptest.Server
	t       *testing.T
	release chan struct{} // closed to let the tool "block" answer

	mu      sync.Mutex
	handler http.Handler
	effects []string
	posts   []*http.Request // of tools/call
	spoil   http.HandlerFunc
}

func newSite(t *testing.T, options *sdk.StreamableHTTPOptions) *site {
	t.Helper()
	s := &site{t: t, release: make(chan struct{})}
	s.deploy(options)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(s.release) })
	return s
}

// deploy replaces the MCP server by a new one, which does not know the sessions of the old one.
func (s *site) deploy(options *sdk.StreamableHTTPOptions) {
	server := newServer(func(effect string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.effects = append(s.effects, effect)
	}, s.release)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, options)
}

// spoilCalls makes f answer tools/call requests instead of the MCP server. If f is nil, the MCP server answers again.
func (s *site) spoilCalls(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoil = f
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	handler := s.handler
	if bytes.Contains(body, []byte(`"tools/call"`)) {
		s.posts = append(s.posts, r)
		if s.spoil != nil {
			handler = s.spoil
		}
	}
	s.mu.Unlock()
	handler.ServeHTTP(w, r)
}

func (s *site) calls() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posts)
}

func (s *site) done() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.effects)
}

func (s *site) connect(change func(*mcp.Server)) *mcp.Source {
	s.t.Helper()
	server := mcp.Server{Name: "remote", Logger: slog.New(slog.DiscardHandler), URL: s.URL + "/?key=" + secret, Headers: map[string]string{"Authorization": "Bearer " + secret + "-header"}}
	if change != nil {
		change(&server)
	}
	source, err := mcp.Connect(s.t.Context(), server)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, source.Close()) })
	return source
}

// legacy requests the last MCP revision that has sessions.
func legacy(s *mcp.Server) { s.Protocol = "2025-11-25" }

func TestCallOverHTTP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options *sdk.StreamableHTTPOptions
		change  func(*mcp.Server)
	}{
		"newest revision":      {nil, nil},
		"sessions, SSE":        {nil, legacy},
		"sessions, JSON":       {&sdk.StreamableHTTPOptions{JSONResponse: true}, legacy},
		"stateless":            {&sdk.StreamableHTTPOptions{Stateless: true}, nil},
		"stateless, old, JSON": {&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, legacy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.options)
			source := s.connect(c.change)
			ctx := tool.WithInfo(t.Context(), tool.Info{Key: "tool-7"})
			got := <-start(ctx, find(t, source, "create"), `{"z": 9007199254740993}`)
			require.NoError(t, got.err)
			require.JSONEq(t, `{"z": 9007199254740993}`, got.res.Content)
			require.Contains(t, got.res.Content, "9007199254740993")
			require.Equal(t, []string{"create tool-7"}, s.done())

			posts := s.calls()
			require.Len(t, posts, 1)
			require.Equal(t, "Bearer "+secret+"-header", posts[0].Header.Get("Authorization"))
			require.NotEmpty(t, posts[0].Header.Get("Mcp-Protocol-Version"))
			require.Empty(t, posts[0].Header.Get("Idempotency-Key"))
		})
	}
}

func TestToolsAreDescribedAsTheServerDescribesThem(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	source := s.connect(func(c *mcp.Server) {
		c.Prefix = "t_"
		c.Rename = map[string]string{"user.get": "user_get", "gone": "x"}
		c.TaskQueue = "only-here"
	})
	tools, err := source.Tools(t.Context())
	require.NoError(t, err)
	specs := map[string]tool.Spec{}
	for _, tl := range tools {
		specs[tl.Spec().Name] = tl.Spec()
	}
	require.Len(t, specs, 13, "of all pages of three")
	require.Equal(t, tool.Spec{Name: "t_look", Description: "Looks.", Schema: []byte(`{"type":"object"}`), Effect: tool.ReadOnly, TaskQueue: "only-here"}, specs["t_look"])
	require.Equal(t, tool.Idempotent, specs["t_put"].Effect)
	require.Equal(t, tool.AtMostOnce, specs["t_create"].Effect)
	for name, spec := range specs {
		require.Equal(t, name != "t_look" && name != "t_put", spec.Destructive(), name)
	}
	require.Equal(t, "Creates.", specs["t_create"].Description)
	require.Contains(t, specs, "user_get")
	// The server's SDK writes the schema compactly; digits and order stay.
	require.Equal(t, `{"type":"object","properties":{"z":{"type":"integer","default":9007199254740993},"a":{}}}`, string(specs["t_create"].Schema))

	var r tool.Registry
	require.NoError(t, r.AddSource("remote", source))
	bound, err := r.Resolve(t.Context(), []string{"remote.*", "remote.user.get"})
	require.NoError(t, err)
	require.Len(t, bound, 13)
	got, err := r.Lookup(t.Context(), "remote.user.get")
	require.NoError(t, err)
	require.Equal(t, "got", (<-start(t.Context(), got, "")).res.Content)

	// Without a rename, the model gets a name that it accepts. The call goes to the tool with the dotted name.
	var plain tool.Registry
	require.NoError(t, plain.AddSource("remote", s.connect(nil)))
	bound, err = plain.Resolve(t.Context(), []string{"remote.user.get"})
	require.NoError(t, err)
	require.Equal(t, "user_get", bound[0].Tool.Spec().Name)
	require.Equal(t, "got", (<-start(t.Context(), bound[0].Tool, "")).res.Content)
}

func TestResultsBecomeText(t *testing.T) {
	t.Parallel()
	source := newSite(t, &sdk.StreamableHTTPOptions{JSONResponse: true}).connect(legacy)
	for name, want := range map[string]tool.Result{
		"fail":           {Content: "token  is no good", IsError: true},
		"structured":     {Content: `{"id":9007199254740993}`},
		"protocol_error": {Content: "protocol_error failed: the database is on fire (code 0)", IsError: true},
		"huge":           {Content: "huge ran, but its answer is longer than 16777216 bytes and was not read", IsError: true},
		"picture": {Content: strings.Join([]string{
			"here:",
			"[image image/png, 12345 bytes: not shown]",
			"[audio audio/wav, 10 bytes: not shown]",
			"[link to the resource log file:///log]",
			"[resource file:///a]\ntext of a",
			"[resource file:///b application/zip, 7 bytes: not shown]",
		}, "\n")},
	} {
		got := <-start(t.Context(), find(t, source, name), "")
		require.NoError(t, got.err, name)
		require.Equal(t, want, got.res)
	}
}

func TestRedirectWithinTheServerIsFollowed(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	front := http.NewServeMux()
	front.Handle("/mcp/", s)
	front.Handle("/mcp", http.RedirectHandler("/mcp/", http.StatusTemporaryRedirect))
	server := httptest.NewServer(front)
	t.Cleanup(server.Close)
	source := s.connect(func(c *mcp.Server) { c.URL = server.URL + "/mcp" })
	got := <-start(t.Context(), find(t, source, "look"), "")
	require.NoError(t, got.err)
	require.Len(t, s.done(), 1)
}
