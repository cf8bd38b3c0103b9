package builtin

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// closed lists networks to which the tool `http_get` must not connect. [public] needs this list because the methods of [netip.Addr]
// treat these addresses as public.
var closed = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network
	netip.MustParsePrefix("100.64.0.0/10"),    // carrier-grade NAT; metadata service of Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's host: looks like a public address, but is local
	netip.MustParsePrefix("192.0.0.0/24"),     // protocol assignments; metadata service of Oracle Cloud
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, broadcast
	netip.MustParsePrefix("::/96"),            // IPv4-compatible
	netip.MustParsePrefix("::ffff:0:0:0/96"),  // IPv4-translated
	netip.MustParsePrefix("64:ff9b::/96"),     // NAT64: reaches IPv4 addresses
	netip.MustParsePrefix("64:ff9b:1::/48"),   // NAT64, local
	netip.MustParsePrefix("100::/64"),         // discard
	netip.MustParsePrefix("2001::/32"),        // Teredo: reaches IPv4 addresses
	netip.MustParsePrefix("2001:db8::/32"),    // documentation
	netip.MustParsePrefix("2002::/16"),        // 6to4: reaches IPv4 addresses
	netip.MustParsePrefix("fec0::/10"),        // site-local
}

// refusePrivate is the `Control` function of the [net.Dialer], which calls it before each connection. `address` has the IP address and
// the port.
func refusePrivate(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return fmt.Errorf("connections over %s are not allowed", network)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address of the connection cannot be parsed: %w", err)
	}
	if !public(ap.Addr()) {
		return fmt.Errorf("address %s is not a public one: private and local addresses are not allowed", ap.Addr())
	}
	return nil
}

func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	// IsGlobalUnicast is false for loopback, link-local, multicast and unspecified addresses.
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(closed, func(p netip.Prefix) bool { return p.Contains(a) })
}
