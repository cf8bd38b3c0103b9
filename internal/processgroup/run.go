package processgroup

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Command is a program that [Command.Run] runs to its end.
type Command struct {
	// Argv is the program and its arguments.
	Argv []string
	// Env is the environment: see [Environ].
	Env []string
	// Stdin is what the program can read. It need not read it.
	Stdin []byte
	// MaxOutput is the number of bytes that are kept of each output. The rest is dropped.
	MaxOutput int
}

// grace is the time for which Run reads the output of a process that has left the group and keeps it open.
const grace = time.Second

// Run runs the program. When the program has exited, or `ctx` has ended, Run kills all processes that the program has started: see [Start].
// The outputs may have bytes that are not UTF-8. If `ctx` has ended, the error wraps its error.
func (c Command) Run(ctx context.Context) (stdout, stderr []byte, err error) {
	stdin, feed, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe for the command's input: %w", err)
	}
	defer feed.Close()
	out, err := newOutput(c.MaxOutput)
	if err != nil {
		stdin.Close()
		return nil, nil, err
	}
	defer out.reader.Close()
	problems, err := newOutput(c.MaxOutput)
	if err != nil {
		stdin.Close()
		out.writer.Close()
		return nil, nil, err
	}
	defer problems.reader.Close()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:noctx // the end of ctx kills the whole group
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Env, stdin, out.writer, problems.writer
	group, err := Start(cmd)
	stdin.Close() // only the command uses these ends of the pipes
	out.writer.Close()
	problems.writer.Close()
	if err != nil {
		return nil, nil, fmt.Errorf("the command cannot be started: %w; check that the program exists on the worker and is executable", err)
	}
	go func() {
		_, _ = feed.Write(c.Stdin)
		feed.Close()
	}()
	go out.read()
	go problems.read()
	stop := context.AfterFunc(ctx, group.Kill)
	defer stop()
	err = group.Wait()
	stdout, stderr = out.end(), problems.end()
	if ctx.Err() != nil {
		return stdout, stderr, fmt.Errorf("the command was killed: %w", context.Cause(ctx))
	}
	if err != nil {
		err = fmt.Errorf("the command failed: %w", err)
	}
	return stdout, stderr, err
}

// Told returns an error of [Command.Run] with the text of outputs, in which the program may have told the reason.
func Told(err error, outputs ...[]byte) error {
	text := strings.TrimSpace(strings.ToValidUTF8(string(bytes.Join(outputs, nil)), "\uFFFD"))
	if err == nil || text == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, text)
}

// output is a pipe from a command. It keeps the beginning of what the command writes.
type output struct {
	reader, writer *os.File
	first          head
	done           chan struct{}
}

func newOutput(limit int) (*output, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for the command's output: %w", err)
	}
	return &output{reader: reader, writer: writer, first: head{limit: limit}, done: make(chan struct{})}, nil
}

func (o *output) read() {
	_, _ = io.Copy(&o.first, o.reader)
	close(o.done)
}

// end returns the output. Call it when the command has exited.
func (o *output) end() []byte {
	defer time.AfterFunc(grace, func() { o.reader.Close() }).Stop()
	<-o.done
	return o.first.Bytes()
}

// head keeps the first `limit` bytes that are written, and drops the rest without an error.
type head struct {
	bytes.Buffer

	limit int
}

func (w *head) Write(b []byte) (int, error) {
	w.Buffer.Write(b[:min(len(b), w.limit-w.Len())])
	return len(b), nil
}
