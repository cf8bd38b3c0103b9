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

	// credential is the error of the source of the credential, because of which the request was not sent or not sent again; nil if there was none.
	credential error

	// answer is the JSON of the result. It is nil if the server sent no result.
	answer json.RawMessage
	// failure is the JSON-RPC error that the server sent instead of a result. It is nil if there was none.
	failure *jsonrpc.Error
}

// `f` must not call a method of the delivery, because update holds the delivery's lock. If the delivery is nil, update does nothing.
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

func deliveryFrom(ctx context.Context) *delivery {
	d, _ := ctx.Value(deliveryKey{}).(*delivery)
	return d
}
