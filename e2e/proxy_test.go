package e2e_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy forwards TCP connections to a server, and can stall or cut all of them. It is safe for concurrent use.
type proxy struct {
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

// newProxy listens on a free port and forwards to target, a host and port, until the test ends.
func newProxy(t testing.TB, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, target: target, conns: map[net.Conn]struct{}{}}
	p.changed = sync.NewCond(&p.mu)
	p.wait.Go(p.accept)
	t.Cleanup(func() {
		p.set(proxyClosed)
		_ = l.Close()
		p.wait.Wait()
	})
	return p
}

// address returns the host and port at which the proxy listens.
func (p *proxy) address() string { return p.listener.Addr().String() }

// stall stops all bytes in both directions. Connections stay open, new ones are accepted; nothing is lost.
func (p *proxy) stall() { p.set(proxyStalled) }

// cut closes all connections, and new ones as they come. Bytes on their way are lost.
func (p *proxy) cut() { p.set(proxyCut) }

// restore forwards again. Connections that were stalled go on, those that were cut do not.
func (p *proxy) restore() { p.set(proxyOpen) }

func (p *proxy) set(m proxyMode) {
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

func (p *proxy) accept() {
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
func (p *proxy) serve(in net.Conn) {
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
func (p *proxy) copy(to io.Writer, from io.Reader) {
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
func (p *proxy) pass() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mode == proxyStalled {
		p.changed.Wait()
	}
	return p.mode == proxyOpen
}

// add takes a connection in, or closes it where connections are cut.
func (p *proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == proxyCut || p.mode == proxyClosed {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *proxy) remove(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

// A stalled connection loses nothing; one that is cut is gone, and a new one works when the proxy is restored.
func TestProxyStallsAndCuts(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { _, _ = io.Copy(c, c); _ = c.Close() })
		}
	})
	t.Cleanup(func() { _ = echo.Close(); conns.Wait() })
	p := newProxy(t, echo.Addr().String())
	answer := func(c net.Conn, within time.Duration) error {
		_ = c.SetReadDeadline(time.Now().Add(within))
		_, err := io.ReadFull(c, make([]byte, 4))
		return err
	}
	say := func(c net.Conn) {
		_, err := c.Write([]byte("ping"))
		require.NoError(t, err)
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", p.address())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := dial()
	say(c)
	require.NoError(t, answer(c, patience))
	p.stall()
	say(c)
	var timeout net.Error
	require.ErrorAs(t, answer(c, 50*time.Millisecond), &timeout)
	require.True(t, timeout.Timeout())
	p.restore()
	require.NoError(t, answer(c, patience))
	p.cut()
	require.Error(t, answer(c, patience))
	require.Error(t, answer(dial(), patience))
	p.restore()
	c = dial()
	say(c)
	require.NoError(t, answer(c, patience))
}
