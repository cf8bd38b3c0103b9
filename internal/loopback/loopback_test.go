package loopback_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/loopback"
)

func TestOnlyThisMachineIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:80": true, "127.0.0.1": true, "127.1.2.3:80": true, "::1": true, "[::1]": true, "[::1]:80": true,
		"": false, ":80": false, "localhost.example.com": false, "localhost.": false, "127.0.0.1.example.com:80": false, "10.0.0.1": false,
		"[::]:80": false, "0.0.0.0": false, "[localhost]x": false,
	} {
		require.Equal(t, want, loopback.Host(host), host)
	}
	require.True(t, loopback.Address(&net.TCPAddr{IP: net.ParseIP("::1")}))
	require.False(t, loopback.Address(&net.TCPAddr{IP: net.IPv4zero}))
	require.False(t, loopback.Address(&net.TCPAddr{}), "all addresses of the machine")
	require.False(t, loopback.Address(&net.UnixAddr{}))
}
