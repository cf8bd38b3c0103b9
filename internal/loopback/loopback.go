// Package loopback recognises the addresses that only this machine can reach.
package loopback

import "net"

// Address reports whether only this machine can reach the address of a listener. It judges the address as it is, because a name may mean
// several.
func Address(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Host reports whether a host means this machine for every client: localhost or an address such as 127.0.0.1 or ::1. There may be a port
// after it. Any other name may be one of somebody else's that resolves to 127.0.0.1.
func Host(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
