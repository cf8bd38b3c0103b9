package mcp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// delivery records what happened to one request to an MCP server: whether the request was sent, and the response. A delivery
// shows whether a failed tool call may have run; the errors of the SDK do not show this. A delivery also keeps the JSON of the
// response, because the SDK decodes numbers into float64. The transport finds the delivery in the request's context and updates
// it.
//
// The zero value stands for a request that was not sent. A delivery is safe for concurrent use.
type delivery struct {
	mu sync.Mutex
	deliveryState
}

// deliveryState has what a [delivery] has recorded about its request.
type deliveryState struct {
	// id is the ID of the request. It is set before the request is written.
	id jsonrpc.ID

	// sent is true if bytes of the request may have reached the server.
	sent bool
	// status is the status code of the HTTP response, or 0 if there was no response.
	status int
	// inSession is true if the HTTP request had the ID of an MCP session.
	inSession bool
	// tooLarge is true if the response has [maxMessage] bytes or more. Such a response is not read to its end.
	tooLarge bool

	// answer is the JSON of the result. It is nil if the server sent no result.
	answer json.RawMessage
	// failure is the JSON-RPC error that the server sent instead of a result. It is nil if there was none.
	failure *jsonrpc.Error
}

// update calls the function `f` with the current state of the delivery. The function may change the state. The function must
// not call a method of the delivery, because update holds the delivery's lock. If the delivery is nil, update does nothing.
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

// deliveryKey is the type of the key under which a context stores a [delivery].
type deliveryKey struct{}

// withDelivery returns a copy of `ctx` that contains the delivery `d`. If `d` is nil, the copy has no delivery.
func withDelivery(ctx context.Context, d *delivery) context.Context {
	return context.WithValue(ctx, deliveryKey{}, d)
}

// deliveryFrom returns the [delivery] that [withDelivery] added to a context, or nil if there is none.
func deliveryFrom(ctx context.Context) *delivery {
	d, _ := ctx.Value(deliveryKey{}).(*delivery)
	return d
}
