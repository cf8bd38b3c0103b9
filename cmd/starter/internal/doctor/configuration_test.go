package doctor

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// Only what an agent uses has a task queue that must be served.
func TestOwnQueuesAreThoseThatAgentsUse(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("agents.yaml", []byte(`
models:
  main: {model: a, base_url: "http://127.0.0.1:1/v1"}
  slow: {model: b, base_url: "http://127.0.0.1:1/v1", rate: {requests_per_minute: 5}}
  unused: {model: c, base_url: "http://127.0.0.1:1/v1", rate: {requests_per_minute: 5}}
mcp_servers:
  browser: {command: [browser], stateful: true}
  plain: {command: [plain]}
  idle: {command: [idle], stateful: true}
agents:
  x: {model: main, fallback: [slow], tools: [browser.*, plain.*]}
`))
	require.NoError(t, err)
	var names []string
	for _, q := range ownQueues(cfg, "agents") {
		names = append(names, q.name)
		require.NotEmpty(t, q.cure)
	}
	require.Equal(t, []string{"agents.model.slow", "agents.mcp.browser"}, names)
	require.Empty(t, ownQueues(nil, "agents"))
}

// An MCP server is started only if that is asked for. Without that, its tools are unchecked; with it, one that does not start is a problem.
func TestServersAreStartedOnlyWhenAsked(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "started")
	file := filepath.Join(t.TempDir(), "agents.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
models:
  main: {model: a, base_url: "http://127.0.0.1:1/v1"}
mcp_servers:
  far: {command: [touch, `+mark+`]}
agents:
  x: {model: main, tools: [far.*]}
`), 0o600))
	p := &patient{flags: &session.Flags{ConfigPath: file}, stderr: t.Output()}
	requireCure(t, object.Well, checkConfiguration(t.Context(), p)[0], "configuration")
	requireCure(t, object.Unchecked, checkServers(t.Context(), p)[0], "not asked")
	require.NoFileExists(t, mark)

	p.options.MCP = true
	requireCure(t, object.Well, checkConfiguration(t.Context(), p)[0], "configuration")
	require.FileExists(t, mark)
	found := checkServers(t.Context(), p)
	require.Len(t, found, 1)
	requireCure(t, object.Wrong, found[0], "a server that ends at once")
	require.Contains(t, found[0].Finding, "mcp_servers.far")

	// A file that is named and missing is a problem; without a name, there may be none.
	p = &patient{flags: &session.Flags{ConfigPath: filepath.Join(t.TempDir(), "none.yaml")}, stderr: t.Output()}
	requireCure(t, object.Wrong, checkConfiguration(t.Context(), p)[0], "named")
	t.Chdir(t.TempDir())
	t.Setenv(session.ConfigEnv, "")
	p.flags.ConfigPath = ""
	requireCure(t, object.Unchecked, checkConfiguration(t.Context(), p)[0], "not named")
	requireCure(t, object.Unchecked, checkServers(t.Context(), p)[0], "no configuration")
	requireCure(t, object.Unchecked, checkModels(t.Context(), p)[0], "no configuration")
}

// Any response says that an endpoint can be reached. The request has no key, and nothing of the query.
func TestEndpointsAreReachedWithoutAKey(t *testing.T) {
	t.Parallel()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.Header.Get("Authorization") != "" || r.URL.RawQuery != "" {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer endpoint.Close()
	where, err := reach(t.Context(), config.Model{BaseURL: endpoint.URL + "/v1?key=secret"})
	require.NoError(t, err)
	require.Equal(t, "at "+endpoint.URL, where)
	endpoint.Close()
	_, err = reach(t.Context(), config.Model{BaseURL: endpoint.URL + "/v1?key=secret"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}
