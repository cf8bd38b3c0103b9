package world

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/app/devserver"
)

// FreePort returns a port that is free. Other processes that ask for a free port do not get it for some time, but a server can
// listen on it.
func FreePort(t *testing.T) int {
	// The listening side closes a connection, which then stays in the state TIME_WAIT. Meanwhile, Linux does not choose the port.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	out, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer out.Close()
	in, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, in.Close())
	return l.Addr().(*net.TCPAddr).Port
}

// StartDeletingServer starts a Temporal server that deletes the history of a run almost as soon as it is asked to. A server
// with the usual settings does this about 30 seconds after the end of the run.
func StartDeletingServer(t *testing.T) *devserver.Server {
	// Temporal deletes a run after it has saved that the end of the run was handled. It saves this at the following intervals.
	own, err := devserver.Start(t.Context(), devserver.Options{DynamicConfig: map[string]string{
		"history.visibilityProcessorUpdateAckInterval": `"100ms"`, "history.transferProcessorUpdateAckInterval": `"100ms"`,
	}})
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	return own
}
