package mcp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// delivery follows one request to the server and its answer back. The SDK does
// not tell a request that was never sent from one whose answer was lost, and it
// decodes numbers into float64; both are seen here, at the transport.
//
// It travels in the request's context. The zero value is a request that was not
// sent.
type delivery struct {
	mu sync.Mutex
	deliveryState
}

type deliveryState struct {
	id jsonrpc.ID // of the request, once it is written

	// sent: bytes of the request may have reached the server.
	sent bool
	// status is that of the HTTP response; 0 if there was none.
	status int
	// inSession: the HTTP request named a session.
	inSession bool
	// tooLarge: the answer came and was longer than is read.
	tooLarge bool

	// answer is the result as it came; failure is the error that came instead.
	answer  json.RawMessage
	failure *jsonrpc.Error
}

func (d *delivery) update(f func(*deliveryState)) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.deliveryState)
}

func (d *delivery) state() deliveryState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.deliveryState
}

type deliveryKey struct{}

func withDelivery(ctx context.Context, d *delivery) context.Context {
	return context.WithValue(ctx, deliveryKey{}, d)
}

// deliveryFrom returns nil in the context of a request that nobody follows.
func deliveryFrom(ctx context.Context) *delivery {
	d, _ := ctx.Value(deliveryKey{}).(*delivery)
	return d
}
