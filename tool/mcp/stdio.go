package mcp

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage bounds one message of a server, in bytes.
const maxMessage = 16 << 20

// stdioTransport starts a server and talks to it over stdin and stdout. It takes
// the place of the SDK's CommandTransport, which ends the command but not what the
// command started, and which cannot tell a message that was not sent.
type stdioTransport struct {
	server  Server
	log     func(line string)
	process *process // set by Connect
}

func (t *stdioTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	cmd := exec.Command(t.server.Command[0], t.server.Command[1:]...) //nolint:noctx // it outlives the context of its start
	cmd.Env = environ(t.server.Env)
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
	writing chan struct{} // holds one element while a message is written
}

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
	// A server that does not read blocks the write, and half a message cannot be
	// taken back: the connection ends with the caller's patience.
	stop := context.AfterFunc(ctx, c.process.stop)
	defer stop()
	err := c.Connection.Write(ctx, msg)
	if errors.Is(err, errNothingWritten) {
		d.update(func(s *deliveryState) { s.sent = false })
	}
	return err
}

// environ is the environment of a server: a few variables of the worker, and
// those that were set for it.
func environ(extra map[string]string) []string {
	inherited := []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
	if runtime.GOOS == "windows" {
		inherited = []string{"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
			"PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"}
	}
	env := []string{} // nil would pass on everything
	for _, name := range inherited {
		value, ok := os.LookupEnv(name)
		if _, set := extra[name]; ok && !set && !strings.HasPrefix(value, "()") { // a shell function
			env = append(env, name+"="+value)
		}
	}
	for name, value := range extra {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
