package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// dev starts a server that can be used, and leaves nothing behind after Ctrl-C.
func TestDevRunsUntilCtrlCAndLeavesNothing(t *testing.T) {
	cmd := exec.Command(os.Args[0], "dev", "--port", "0", "--namespace", "mine")
	cmd.Env = append(os.Environ(), asStarter+"=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // the process has ended already if the test passes

	var said strings.Builder
	for lines := bufio.NewScanner(stdout); !strings.Contains(said.String(), "Ctrl-C") && lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
	}
	m := regexp.MustCompile(`^Temporal  (\S+) \(namespace mine\)\nWeb UI    (\S+)\nData      in memory.*\nWaiting   (\S+)\n`).FindStringSubmatch(said.String())
	require.NotNil(t, m, said.String())
	address, ui := m[1], m[2]
	require.Contains(t, said.String(), "  TEMPORAL_ADDRESS="+address+" TEMPORAL_NAMESPACE=mine go run ./cmd/worker --config examples/agents.yaml\n")

	resp, err := http.Get(ui)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)

	c, err := (&session.Flags{Address: address, Namespace: "mine"}).Dial(t.Context())
	require.NoError(t, err)
	_, err = c.CheckHealth(t.Context(), &client.CheckHealthRequest{})
	require.NoError(t, err)
	waiting, err := url.Parse(m[3])
	require.NoError(t, err)
	require.Equal(t, "/namespaces/mine/workflows", waiting.Path)
	_, err = c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "mine", Query: waiting.Query().Get("query")})
	require.NoError(t, err, "the server knows the attributes of the link")
	c.Close()

	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Wait(), "Ctrl-C is the normal end")
	_, err = net.Dial("tcp", address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

// A program that starts the server reads its addresses from one line, and nothing else follows.
func TestDevTellsProgramsItsAddresses(t *testing.T) {
	cmd := exec.Command(os.Args[0], "dev", "--port", "0", "--json")
	cmd.Env = append(os.Environ(), asStarter+"=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	output := json.NewDecoder(stdout)
	var server object.Server
	require.NoError(t, output.Decode(&server))
	conn, err := net.Dial("tcp", server.Address)
	require.NoError(t, err)
	conn.Close()
	require.Equal(t, "default", server.Namespace)
	require.Regexp(t, "^http://", server.WebUI)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.ErrorIs(t, output.Decode(&server), io.EOF)
	require.NoError(t, cmd.Wait())
}

func TestDevNamesTheTakenPortAndTheFlag(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port

	code, _, stderr := starter(t, "dev", "--port", fmt.Sprint(port))
	require.Equal(t, exit.Failure, code)
	require.Equal(t, fmt.Sprintf("starter: port %d, for Temporal, is in use, perhaps by another server; stop that server or choose another port with --port\n", port), stderr)

	code, _, stderr = starter(t, "dev", "--port", "0", "--ui-port", fmt.Sprint(port))
	require.Equal(t, exit.Failure, code)
	require.Contains(t, stderr, "for the Web UI, is in use, perhaps by another server; stop that server or choose another port with --ui-port\n")
}
