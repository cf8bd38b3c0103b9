package world

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Proxy forwards TCP connections to a server. A test can stall or cut all of them. Proxy is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	target   string
	wait     sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond // the mode has changed
	mode    proxyMode
	conns   map[net.Conn]struct{}
}

type proxyMode int

const (
	proxyOpen proxyMode = iota
	proxyStalled
	proxyCut
	proxyClosed
)

// NewProxy starts a proxy on a free port. It forwards connections to the address target, a host and a port, until the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{listener: l, target: target, conns: map[net.Conn]struct{}{}}
	p.changed = sync.NewCond(&p.mu)
	p.wait.Go(p.accept)
	t.Cleanup(func() {
		p.set(proxyClosed)
		_ = l.Close()
		p.wait.Wait()
	})
	return p
}

// Address returns the host and port at which the proxy listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Stall holds back all bytes in both directions until [Proxy.Restore]. Connections stay open, and new ones are accepted.
func (p *Proxy) Stall() { p.set(proxyStalled) }

// Cut closes all connections. Until [Proxy.Restore], it also closes each new connection. Bytes on their way are lost.
func (p *Proxy) Cut() { p.set(proxyCut) }

// Restore ends the effect of [Proxy.Stall] and [Proxy.Cut]. Stalled connections work again; connections that were cut stay
// closed.
func (p *Proxy) Restore() { p.set(proxyOpen) }

func (p *Proxy) set(m proxyMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	p.changed.Broadcast()
	if m == proxyCut || m == proxyClosed {
		for c := range p.conns {
			_ = c.Close()
		}
	}
}

func (p *Proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		if !p.add(in) {
			continue
		}
		p.wait.Go(func() { p.serve(in) })
	}
}

// serve forwards one connection until it is closed.
func (p *Proxy) serve(in net.Conn) {
	defer p.remove(in)
	if !p.pass() {
		return
	}
	out, err := net.DialTimeout("tcp", p.target, time.Second)
	if err != nil || !p.add(out) {
		return
	}
	defer p.remove(out)
	p.wait.Go(func() {
		p.copy(out, in)
		_ = out.Close() // ends the other direction
	})
	p.copy(in, out)
	_ = in.Close()
}

// copy forwards the bytes of one direction of a connection. While the proxy is stalled, it waits.
func (p *Proxy) copy(to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !p.pass() {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits while the proxy is stalled. Then it reports whether bytes may be forwarded.
func (p *Proxy) pass() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mode == proxyStalled {
		p.changed.Wait()
	}
	return p.mode == proxyOpen
}

// add adds a connection to those that [Proxy.Cut] closes. If no connection is allowed now, it closes c and returns false.
func (p *Proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == proxyCut || p.mode == proxyClosed {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) remove(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}
