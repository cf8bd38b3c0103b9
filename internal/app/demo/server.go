package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// serve answers HTTP requests with the given handler until the context ends. It listens on a free port of the loopback
// interface, and returns the URL.
func serve(ctx context.Context, handler http.Handler) (url string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen on a free port: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }() // it returns after Close
	return "http://" + l.Addr().String(), nil
}

// counter counts calls, and how many different idempotency keys they have. The zero value is ready to use. A counter is safe
// for concurrent use.
type counter struct {
	mu    sync.Mutex
	calls int
	keys  map[string]bool
}

// add counts a call with the given idempotency key. It returns the number of calls with any key so far, including this one.
func (c *counter) add(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = map[string]bool{}
	}
	c.keys[key] = true
	c.calls++
	return c.calls
}

func (c *counter) count() ToolCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ToolCount{Calls: c.calls, Keys: len(c.keys), Again: c.calls - len(c.keys)}
}
