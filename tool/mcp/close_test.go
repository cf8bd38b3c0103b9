package mcp_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

func TestCloseLeavesNoProcess(t *testing.T) {
	t.Parallel()
	l := startLocal(t, func(s *mcp.Server) { s.Env["WITH_CHILD"] = "yes" })
	block := find(t, l, "block")
	done := start(tool.WithInfo(t.Context(), tool.Info{Key: "k"}), block, "")
	l.eventually(func() bool { return l.count("block k") == 1 })
	require.NoError(t, l.Close())
	require.ErrorIs(t, (<-done).err, tool.ErrOutcomeUnknown)
	require.True(t, gone(l.pids("start")[0]))
	child := l.pids("child")[0]
	l.eventually(func() bool { return gone(child) || zombie(child) })

	got := <-start(t.Context(), block, "")
	require.ErrorContains(t, got.err, "block did not run: the connection was closed by Source.Close")
	_, err := l.Tools(t.Context())
	require.Error(t, err)
}

// Close also ends a process of the server that has its own session.
func TestAttackProcessOfAServerDoesNotSurviveIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the environments of processes")
	}
	t.Parallel()
	l := startLocal(t, func(s *mcp.Server) { s.Env["WITH_DAEMON"] = "yes" })
	daemon := l.pids("daemon")[0]
	require.False(t, gone(daemon))
	require.NoError(t, l.Close())
	l.eventually(func() bool { return gone(daemon) || zombie(daemon) })
}

// zombie reports whether a process has exited and its parent has not waited for it. In a container without an init process, an
// orphan stays in this state.
func zombie(pid int) bool {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return strings.Contains(string(data), ") Z ")
}

func TestCloseEndsAServerThatStays(t *testing.T) {
	t.Parallel()
	l := startLocal(t, func(s *mcp.Server) { s.Env["STUBBORN"] = "yes" })
	require.NoError(t, l.Close())
	require.True(t, gone(l.pids("start")[0]))
}

func TestConnectFailsClearly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server mcp.Server
		want   string
	}{
		"no program":   {mcp.Server{Name: "x", Command: []string{"/no/such/program"}}, "no such file"},
		"exits":        {mcp.Server{Name: "x", Command: []string{"true"}}, "mcp server x: list tools: connect: the server exited with code 0 before it answered"},
		"fails":        {mcp.Server{Name: "x", Command: []string{"sh", "-c", "echo no database >&2; exit 3"}}, "the server exited with code 3 before it answered; the server wrote:\n  no database"},
		"killed":       {mcp.Server{Name: "x", Command: []string{"sh", "-c", "kill -9 $$"}}, "the server was ended by a signal (signal: killed) before it answered"},
		"not MCP":      {mcp.Server{Name: "x", Command: []string{"echo", "hello"}}, "mcp server x"},
		"hangs":        {mcp.Server{Name: "x", Command: []string{"sleep", "1000"}, ConnectTimeout: 50 * time.Millisecond}, "the server did not answer within 50ms"},
		"nothing":      {mcp.Server{Name: "x"}, "neither Command nor URL"},
		"both":         {mcp.Server{Name: "x", Command: []string{"true"}, URL: "http://x"}, "both"},
		"no name":      {mcp.Server{Command: []string{"true"}}, "Name is not set"},
		"scheme":       {mcp.Server{Name: "x", URL: "ftp://u:pass@x"}, "not an http or https URL"},
		"header":       {mcp.Server{Name: "x", URL: "http://x", Headers: map[string]string{"idempotency-key": "1"}}, "twice; remove it"},
		"refuses":      {mcp.Server{Name: "x", URL: "http://u:hidden1@127.0.0.1:1/?key=hidden2"}, "connection refused"},
		"env with URL": {mcp.Server{Name: "x", URL: "http://x", Env: map[string]string{"A": "b"}}, "Env"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mcp.Connect(t.Context(), c.server)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hidden1")
			require.NotContains(t, err.Error(), "hidden2")
		})
	}
}
