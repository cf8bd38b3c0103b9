package devserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// holdServer is an environment variable. If it is set, the test program starts a server, prints the server's address and waits
// until it is killed.
const holdServer = "REAGENT_TEST_HOLD_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(holdServer) == "" {
		os.Exit(m.Run())
	}
	s, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Address())
	_, _ = io.Copy(io.Discard, os.Stdin) // until killed
}

func TestServerIsReadyAndLeavesNothing(t *testing.T) {
	began := time.Now()
	s := startFor(t, Options{Namespace: "other", SearchAttributes: map[string]string{"AgentName": "Keyword"}})
	t.Logf("ready after %s", time.Since(began))

	c, err := client.Dial(client.Options{HostPort: s.Address(), Namespace: s.Namespace()})
	require.NoError(t, err)
	defer c.Close()
	// The namespace is not only listed: a workflow can be started at once.
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "first", TaskQueue: "none"}, "Nothing")
	require.NoError(t, err)
	described, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "other"})
	require.NoError(t, err)
	require.Equal(t, "other", described.GetNamespaceInfo().GetName())

	for path, want := range map[string]string{"/": "<html", "/api/v1/namespaces/other": `"name":"other"`} {
		resp, err := http.Get(s.UIURL() + path)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		require.Contains(t, strings.ReplaceAll(string(body), " ", ""), want)
	}
	require.NoError(t, s.Err())

	s.Stop()
	<-s.Done()
	require.NoError(t, s.Err(), "it was asked to end")
	require.False(t, answers(s.Address()))
	require.NotNil(t, s.child.cmd.ProcessState, "reaped")
	s.Stop() // the second call does nothing
}

func TestServersStartAtOnce(t *testing.T) {
	servers := make([]*Server, 2)
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i := range servers {
		all.Go(func() { servers[i], errs[i] = Start(t.Context(), Options{}) })
	}
	all.Wait()
	for i, s := range servers {
		require.NoError(t, errs[i])
		t.Cleanup(s.Stop)
	}
	require.NotEqual(t, servers[0].Address(), servers[1].Address())
}

func TestServerThatDiesSaysSo(t *testing.T) {
	s := startFor(t, Options{})
	require.NoError(t, s.child.cmd.Process.Kill())
	<-s.Done()
	require.ErrorContains(t, s.Err(), "the Temporal server ended by itself (signal: killed)")
	s.Stop()
	require.Error(t, s.Err(), "stopping it afterwards does not hide that")
}

// A test that panics, or a terminal that is closed, must not leave a server
// behind: it would hold its port and its memory until the next reboot.
func TestServerDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a child of its parent's death")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), holdServer+"=1")
	parent.Stderr = os.Stderr
	stdin, err := parent.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line := make([]byte, 64)
	n, err := stdout.Read(line)
	require.NoError(t, err)
	addr := strings.TrimSpace(string(line[:n]))
	require.True(t, answers(addr))

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.Eventually(t, func() bool { return !answers(addr) }, 10*time.Second, 10*time.Millisecond)
}

func TestTakenPortIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", address(0))
	require.NoError(t, err)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port

	_, err = Start(t.Context(), Options{Port: port})
	var taken *PortInUseError
	require.ErrorAs(t, err, &taken)
	require.EqualError(t, err, fmt.Sprintf("port %d, for Temporal, is in use, perhaps by another server; stop that server or choose another port", port))
	_, err = Start(t.Context(), Options{UIPort: port})
	require.EqualError(t, err, fmt.Sprintf("port %d, for the Web UI, is in use, perhaps by another server; stop that server or choose another port", port))
	_, err = Start(t.Context(), Options{Port: 70000})
	require.EqualError(t, err, "port 70000, for Temporal, must be between 0 and 65535")
}

func TestFailedStartShowsWhatTheServerWrote(t *testing.T) {
	_, err := Start(t.Context(), Options{DBFilename: filepath.Join(t.TempDir(), "no", "folder.db"), Progress: os.Stderr})
	require.ErrorIs(t, err, errEndedEarly)
	require.ErrorContains(t, err, "did not become ready: its process ended (exit status 1); it wrote:")
	require.ErrorContains(t, err, "no such file or directory")
}

func TestArguments(t *testing.T) {
	s := &Server{port: 7000, uiPort: 8000}
	require.Equal(t, strings.Fields(`server start-dev --ip 127.0.0.1 --port 7000 --ui-port 8000 --log-level warn
		--namespace n --db-filename f
		--dynamic-config-value frontend.ListWorkersEnabled=true --dynamic-config-value frontend.WorkerHeartbeatsEnabled=true
		--dynamic-config-value history.transferProcessorMaxPollRPS=5
		--dynamic-config-value limit.blobSize.error=1
		--dynamic-config-value matching.numTaskqueueReadPartitions=1
		--dynamic-config-value matching.numTaskqueueWritePartitions=1
		--dynamic-config-value system.enableActivityEagerExecution=true
		--search-attribute A=Keyword --search-attribute B=Int`),
		arguments(s, Options{
			Namespace: "n", DBFilename: "f",
			DynamicConfig:    map[string]string{"limit.blobSize.error": "1", "history.transferProcessorMaxPollRPS": "5"},
			SearchAttributes: map[string]string{"B": "Int", "A": "Keyword"},
		}))
}

func TestTailKeepsWholeLinesOfTheEnd(t *testing.T) {
	var log tail
	require.Equal(t, "; it wrote nothing", log.report())
	for i := range 1000 {
		log.add(fmt.Appendf(nil, "line %d\n", i))
	}
	report := log.report()
	require.LessOrEqual(t, len(log.buf), tailSize)
	require.Regexp(t, `^; it wrote:\n  line \d+\n`, report)
	require.True(t, strings.HasSuffix(report, "  line 998\n  line 999"))
}

// A build of 13 minutes prints 15 lines, and not one line every five seconds.
func TestNewcomerIsToldOfALongBuildNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		over := elapsed(&out, func() string { return "Building" }, nextTick)
		time.Sleep(13*time.Minute + time.Second) // on the fake clock of synctest
		over()
		require.True(t, strings.HasPrefix(out.String(), "Building: 10s\nBuilding: 30s\nBuilding: 1m0s\nBuilding: 2m0s\n"), out.String())
		require.True(t, strings.HasSuffix(out.String(), "Building: 13m0s\n"), out.String())
		require.Equal(t, 15, strings.Count(out.String(), "\n"))
	})
}

func startFor(t *testing.T, opts Options) *Server {
	var log bytes.Buffer
	opts.LogTo = &log
	opts.Progress = os.Stderr
	s, err := Start(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

func answers(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
