package access

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connections limits the open connections of a server. If there is one too many, the one is closed that has been without a request for the
// longest time. So connections that do nothing never keep a request out, however many there are.
type connections struct {
	most int

	mu    sync.Mutex
	open  map[net.Conn]*list.Element // nil while a request is running
	quiet list.List                  // of net.Conn without a request; the one that has been waiting for the longest time is first
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*list.Element{}}
}

// changed is the ConnState of an [http.Server].
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.open[conn]; e != nil {
		c.quiet.Remove(e)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = c.quiet.PushBack(conn)
	case http.StateActive:
		c.open[conn] = nil
	default:
		delete(c.open, conn)
	}
	if first := c.quiet.Front(); len(c.open) > c.most && first != nil {
		oldest := c.quiet.Remove(first).(net.Conn)
		delete(c.open, oldest)
		if encrypted, ok := oldest.(*tls.Conn); ok {
			oldest = encrypted.NetConn() // a tls.Conn says goodbye when it is closed, and waits for a client that does not read
		}
		oldest.Close()
	}
}
