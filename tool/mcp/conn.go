package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// recorder is a transport whose connection records answers as they come in.
//
// A wrapped connection hides from the SDK that the streamable one wants to hear of
// the negotiated protocol version; the version's header is set by [roundTripper]
// instead, and the stream of server-initiated messages, which is not wanted, does
// not start.
type recorder struct {
	inner      sdk.Transport
	negotiated func(version string)
	conn       *conn // set by Connect
}

func (r *recorder) Connect(ctx context.Context) (sdk.Connection, error) {
	inner, err := r.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	r.conn = &conn{Connection: inner, negotiated: r.negotiated, pending: map[jsonrpc.ID]*delivery{}}
	return r.conn, nil
}

type conn struct {
	sdk.Connection
	negotiated func(version string)

	mu         sync.Mutex
	pending    map[jsonrpc.ID]*delivery
	initialize jsonrpc.ID // ID of the request that negotiates the version
}

func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		// The SDK cancels a call with the values of the call's context; that message is
		// not the call.
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

func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if resp, ok := msg.(*jsonrpc.Response); ok && err == nil {
		c.record(resp)
	}
	return msg, err
}

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
		if json.Unmarshal(resp.Result, &result) == nil {
			c.negotiated(result.ProtocolVersion)
		}
	}
	d.update(func(s *deliveryState) {
		if resp.Error == nil {
			s.answer = resp.Result
			return
		}
		// The SDK makes up a response, with an error of another type, for a stream that
		// ended without one.
		errors.As(resp.Error, &s.failure)
	})
}

// forget ends the wait for an answer that its caller no longer wants.
func (c *conn) forget(d *delivery) {
	id := d.state().id
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}
