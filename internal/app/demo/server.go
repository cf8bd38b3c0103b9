package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// serve listens on a free port of the loopback interface until the context ends.
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

// counter counts calls and their different idempotency keys. The zero value is ready to use. It is safe for concurrent use.
type counter struct {
	mu    sync.Mutex
	calls int
	keys  map[string]bool
}

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
