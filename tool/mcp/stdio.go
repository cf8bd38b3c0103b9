package mcp

import (
	"context"
	"errors"
	"io"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reagent-dev/reagent/internal/processgroup"
)

// maxMessage limits the length of one message from a server, in bytes.
const maxMessage = 16 << 20

// stdioTransport starts a local MCP server and communicates over the server's stdin and stdout. This package does not use the
// SDK's `CommandTransport`, for two reasons. That type does not stop the processes that the command started. Its errors do not
// say whether a message was sent.
type stdioTransport struct {
	server  Server
	log     func(line string)
	process *process // set by Connect
}

// Connect starts the server and connects to it. The server keeps running after `ctx` has ended.
func (t *stdioTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	cmd := exec.Command(t.server.Command[0], t.server.Command[1:]...) //nolint:noctx // the server must keep running after ctx has ended
	cmd.Env = processgroup.Environ(t.server.Env)
	cmd.Dir = t.server.Dir
	p, err := startProcess(cmd, t.log)
	if err != nil {
		return nil, err
	}
	t.process = p
	inner, err := (&sdk.IOTransport{Reader: io.NopCloser(p), Writer: p, MaxLineLength: maxMessage}).Connect(ctx)
	if err != nil {
		p.stop()
		return nil, err
	}
	return &stdioConn{Connection: inner, process: p, writing: make(chan struct{}, 1)}, nil
}

type stdioConn struct {
	sdk.Connection
	process *process
	writing chan struct{} // has one element while a message is written
}

// Write sends a message to the server. If `ctx` contains a [delivery], Write records there whether the message may have reached
// the server. If `ctx` ends during the write, Write stops the server. The server may then have only a part of the message, and
// the connection is unusable.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.writing }()
	if err := ctx.Err(); err != nil {
		return err
	}
	d := deliveryFrom(ctx)
	d.update(func(s *deliveryState) { s.sent = true })
	// If the server does not read its stdin, the write blocks until the server is stopped. So the end of ctx stops the
	// server.
	stop := context.AfterFunc(ctx, c.process.stop)
	defer stop()
	err := c.Connection.Write(ctx, msg)
	if errors.Is(err, errNothingWritten) {
		d.update(func(s *deliveryState) { s.sent = false })
	}
	return err
}
