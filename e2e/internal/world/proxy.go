package world

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Proxy forwards TCP connections to a server, and can stall or cut all of them. It is safe for concurrent use.
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

// NewProxy listens on a free port and forwards to target, a host and port, until the test ends.
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

// Stall stops all bytes in both directions. Connections stay open, new ones are accepted; nothing is lost.
func (p *Proxy) Stall() { p.set(proxyStalled) }

// Cut closes all connections, and new ones as they come. Bytes on their way are lost.
func (p *Proxy) Cut() { p.set(proxyCut) }

// Restore forwards again. Connections that were stalled go on, those that were cut do not.
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

// serve forwards one connection to its end.
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

// copy forwards bytes of one direction, each when the proxy is open.
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

// pass waits while the proxy is stalled, and reports whether it is open then.
func (p *Proxy) pass() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mode == proxyStalled {
		p.changed.Wait()
	}
	return p.mode == proxyOpen
}

// add takes a connection in, or closes it where connections are cut.
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
