package world

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/devserver"
)

// FreePort returns a port that is free at the moment. A connection that was closed on the listening side stays behind in the state
// TIME_WAIT. Meanwhile Linux gives the port to no other test process that asks for a free one, but a server can listen on it.
func FreePort(t *testing.T) int {
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

// StartDeletingServer starts a server that deletes at once. Temporal deletes when it has noted down that the close was
// handled, usually after 30 seconds.
func StartDeletingServer(t *testing.T) *devserver.Server {
	own, err := devserver.Start(t.Context(), devserver.Options{DynamicConfig: map[string]string{
		"history.visibilityProcessorUpdateAckInterval": `"100ms"`, "history.transferProcessorUpdateAckInterval": `"100ms"`,
	}})
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	return own
}
