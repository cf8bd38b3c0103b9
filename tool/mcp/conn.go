package mcp

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reagent-dev/reagent/internal/exact"
)

// recorder is an MCP transport that wraps another transport. It stores each response of the server in the [delivery] of the
// corresponding request.
type recorder struct {
	inner      sdk.Transport
	negotiated func(version string) // called with the negotiated protocol version; may be nil
	conn       *conn                // set by Connect
}

// Connect connects the inner transport. It wraps the new connection in a [conn].
func (r *recorder) Connect(ctx context.Context) (sdk.Connection, error) {
	inner, err := r.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	// The SDK does not recognise its streamable HTTP connection inside the conn. So it does not pass the negotiated protocol
	// version to the connection, and [roundTripper] sets the version header. It also does not open a stream for messages that the
	// server initiates. This package does not use such messages: the notifications about the progress of a call come in the stream
	// of the call's response.
	r.conn = &conn{Connection: inner, negotiated: r.negotiated, pending: map[jsonrpc.ID]*delivery{}}
	return r.conn, nil
}

type conn struct {
	sdk.Connection
	negotiated func(version string)

	mu         sync.Mutex
	pending    map[jsonrpc.ID]*delivery // the deliveries of requests that have no response yet
	initialize jsonrpc.ID               // the ID of the request that negotiates the protocol version
}

// Write sends a message to the server. If the message is a request and `ctx` contains a [delivery], Write remembers the
// delivery in `c.pending`. [conn.Read] later stores the response in this delivery.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		// The SDK sends a notification to cancel a call, with the values of the call's context. So ctx has the delivery of
		// the call, but this delivery must not record that the notification is sent.
		return c.Connection.Write(withDelivery(ctx, nil), msg)
	}
	d := deliveryFrom(ctx)
	d.update(func(s *deliveryState) { s.id = req.ID })
	c.mu.Lock()
	if d != nil {
		c.pending[req.ID] = d
	}
	if req.Method == "initialize" {
		c.initialize = req.ID
	}
	c.mu.Unlock()
	return c.Connection.Write(ctx, msg)
}

// Read returns the next message of the server. If the message is a response, Read also stores it in the [delivery] of its
// request.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if resp, ok := msg.(*jsonrpc.Response); ok && err == nil {
		c.record(resp)
	}
	return msg, err
}

// record stores a response in the delivery of its request. If the response contains the negotiated MCP protocol version, record
// passes the version on to `c.negotiated`.
func (c *conn) record(resp *jsonrpc.Response) {
	c.mu.Lock()
	d := c.pending[resp.ID]
	delete(c.pending, resp.ID)
	initialize := c.initialize.IsValid() && c.initialize == resp.ID
	c.mu.Unlock()

	if initialize && c.negotiated != nil {
		var result struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if exact.Decode(resp.Result, &result, exact.Foreign) == nil {
			c.negotiated(result.ProtocolVersion)
		}
	}
	d.update(func(s *deliveryState) {
		if resp.Error == nil {
			s.answer = resp.Result
			return
		}
		// If a stream ended without a response, the SDK creates a response. The type of its error is not *jsonrpc.Error, so
		// failure stays nil.
		errors.As(resp.Error, &s.failure)
	})
}

// forget must be called when no caller waits for the response any more. Without it, `c.pending` would grow.
func (c *conn) forget(d *delivery) {
	id := d.state().id
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}
