package world

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stalled connection loses no bytes. A connection that was cut is closed, and a new connection works after Restore.
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
	p := NewProxy(t, echo.Addr().String())
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
		c, err := net.Dial("tcp", p.Address())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := dial()
	say(c)
	require.NoError(t, answer(c, Patience))
	p.Stall()
	say(c)
	var timeout net.Error
	require.ErrorAs(t, answer(c, 50*time.Millisecond), &timeout)
	require.True(t, timeout.Timeout())
	p.Restore()
	require.NoError(t, answer(c, Patience))
	p.Cut()
	require.Error(t, answer(c, Patience))
	require.Error(t, answer(dial(), Patience))
	p.Restore()
	c = dial()
	say(c)
	require.NoError(t, answer(c, Patience))
}
