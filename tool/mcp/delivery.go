package mcp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// delivery records what happened to one request: whether it was sent, and the response. It shows whether a failed call may have
// run, which the errors of the SDK do not show. It also keeps the JSON of the response, because the SDK decodes numbers into
// float64. The transport finds the delivery in the request's context and updates it.
//
// The zero value stands for a request that was not sent. A delivery is safe for concurrent use.
type delivery struct {
	mu sync.Mutex
	deliveryState
}

// deliveryState is the content of a [delivery].
type deliveryState struct {
	// id is the ID of the request. It is set before the request is written.
	id jsonrpc.ID

	// sent is true if bytes of the request may have reached the server.
	sent bool
	// status is the status of the HTTP response; 0 if there was none.
	status int
	// inSession is true if the HTTP request had a session ID.
	inSession bool
	// tooLarge is true if the response was not read to its end because it has maxMessage bytes or more.
	tooLarge bool

	// answer is the JSON of the result. failure is the JSON-RPC error if the server sent an error and no result.
	answer  json.RawMessage
	failure *jsonrpc.Error
}

// update calls f with the current state of the delivery. f may change the state. f must not call a method of d, because update
// holds the lock of d. If d is nil, update does nothing.
func (d *delivery) update(f func(*deliveryState)) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.deliveryState)
}

// state returns a copy of the current state of the delivery.
func (d *delivery) state() deliveryState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.deliveryState
}

// deliveryKey is the key of the [delivery] in a context.
type deliveryKey struct{}

// withDelivery returns a copy of ctx that contains the delivery d. If d is nil, the copy has no delivery.
func withDelivery(ctx context.Context, d *delivery) context.Context {
	return context.WithValue(ctx, deliveryKey{}, d)
}

// deliveryFrom returns the [delivery] that withDelivery put into ctx; nil if there is none.
func deliveryFrom(ctx context.Context) *delivery {
	d, _ := ctx.Value(deliveryKey{}).(*delivery)
	return d
}
