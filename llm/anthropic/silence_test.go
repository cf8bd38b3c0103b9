package anthropic_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
)

// within runs a client and a server with a fake clock and a connection in memory. It returns the results of Complete and the time
// that Complete took. The given function (handle) writes the stream with two functions: the first (say) sends a text, and the
// second (pause) waits for a given time, or until the client closes the connection.
func within(t *testing.T, timeout, idle time.Duration, handle func(say func(string), pause func(time.Duration))) (reply llm.Reply, took time.Duration, err error) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			handle(func(s string) {
				_, _ = io.WriteString(w, s)
				_ = http.NewResponseController(w).Flush()
			}, func(d time.Duration) {
				timer := time.NewTimer(d)
				defer timer.Stop()
				select {
				case <-timer.C:
				case <-r.Context().Done():
				}
			})
		})}
		listener := &oneConnection{accept: make(chan net.Conn, 1), closed: make(chan struct{})}
		listener.accept <- far
		go func() { _ = server.Serve(listener) }()
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
		client, newErr := anthropic.New(anthropic.Options{
			BaseURL: "http://memory", Timeout: timeout, IdleTimeout: idle, HTTPClient: &http.Client{Transport: transport},
		})
		require.NoError(t, newErr)

		start := time.Now()
		reply, err = client.Complete(t.Context(), ask())
		took = time.Since(start)

		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
		synctest.Wait()
	})
	return reply, took, err
}

// oneConnection is a listener that accepts one connection in memory.
type oneConnection struct {
	accept chan net.Conn
	closed chan struct{}
}

func (l *oneConnection) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConnection) Close() error {
	close(l.closed)
	return nil
}

func (l *oneConnection) Addr() net.Addr { return &net.UnixAddr{} }

func TestAStreamThatGoesSilentIsGivenUp(t *testing.T) {
	t.Parallel()
	_, took, err := within(t, time.Hour, time.Minute, func(say func(string), pause func(time.Duration)) {
		say(starts + hello)
		pause(50 * time.Second)
		say(pings)
		pause(time.Hour)
	})
	require.ErrorIs(t, err, &llm.Error{Class: llm.Connection})
	require.ErrorContains(t, err, "the endpoint sent nothing for 1m0s")
	require.Equal(t, 110*time.Second, took)
}

// Options.IdleTimeout applies only after the first text, and Options.Timeout limits the time until then.
func TestAModelMayThinkForAsLongAsItIsGiven(t *testing.T) {
	t.Parallel()
	think := func(d time.Duration) func(func(string), func(time.Duration)) {
		return func(say func(string), pause func(time.Duration)) {
			say(starts)
			pause(d)
			say(hello + ends + stops)
		}
	}
	reply, took, err := within(t, time.Hour, time.Minute, think(59*time.Minute))
	require.NoError(t, err)
	require.Equal(t, "Hello", reply.Message.Content)
	require.Equal(t, 59*time.Minute, took)

	_, took, err = within(t, time.Hour, time.Minute, think(2*time.Hour))
	require.ErrorIs(t, err, &llm.Error{Class: llm.Connection})
	require.ErrorContains(t, err, "no complete response within 1h0m0s")
	require.Equal(t, time.Hour, took)
}

// Each part of the content restarts Options.Timeout. Pings and comments do not.
func TestOnlyContentKeepsAStreamAlive(t *testing.T) {
	t.Parallel()
	_, took, err := within(t, 2*time.Minute, time.Minute, func(say func(string), pause func(time.Duration)) {
		say(starts)
		for range 100 {
			say(hello)
			pause(50 * time.Second)
		}
		say(ends + stops)
	})
	require.NoError(t, err)
	require.Equal(t, 5000*time.Second, took)

	for _, nothing := range []string{pings, ": keep-alive\n\n"} {
		_, took, err = within(t, 10*time.Minute, time.Minute, func(say func(string), pause func(time.Duration)) {
			say(starts + hello)
			for range 100 {
				pause(30 * time.Second)
				say(nothing)
			}
		})
		require.ErrorContains(t, err, "no complete response within 10m0s")
		require.Equal(t, 10*time.Minute, took)
	}
}

// If the server does not close the connection after a complete reply, the client returns the reply.
func TestAWholeReplyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for end, want := range map[string]time.Duration{ends: 5 * time.Second, ends + stops: 0} {
		reply, took, err := within(t, time.Hour, time.Minute, func(say func(string), pause func(time.Duration)) {
			say(starts + hello + end)
			for range 100 {
				pause(time.Second)
				say(pings)
			}
		})
		require.NoError(t, err)
		require.Equal(t, "Hello", reply.Message.Content)
		require.Equal(t, want, took)
	}
}
