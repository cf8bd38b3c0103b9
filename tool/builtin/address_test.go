package builtin

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPublicAddresses(t *testing.T) {
	for _, a := range []string{"1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"} {
		require.True(t, public(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{
		"127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "192.0.0.192",
		"168.63.129.16", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "198.18.0.1",
		"::1", "::", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
		"64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "fec0::1",
	} {
		require.False(t, public(netip.MustParseAddr(a)), a)
	}
	require.Error(t, refusePrivate("udp4", "1.1.1.1:53", nil))
	require.Error(t, refusePrivate("tcp4", "localhost:80", nil))
}

// A host name may resolve to a public address first and to a private one later. A public server may redirect to a private
// one. The dialer's check prevents both connections.
func TestRedirectMeetsTheDialCheck(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	defer inner.Close()
	outer := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusFound))
	defer outer.Close()

	client := newHTTPClient(Options{AllowPrivate: true})
	dialed := 0
	allowed := strings.TrimPrefix(outer.URL, "http://")
	dialer := net.Dialer{Control: func(network, address string, c syscall.RawConn) error {
		if dialed++; address == allowed {
			return nil
		}
		return refusePrivate(network, address, c)
	}}
	client.Transport.(*http.Transport).DialContext = dialer.DialContext
	_, err := client.Get(outer.URL)
	require.ErrorContains(t, err, "not allowed")
	require.Equal(t, 2, dialed)
}
