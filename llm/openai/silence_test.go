package openai_test

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
	"github.com/reagent-dev/reagent/llm/openai"
)

// within runs a client and a server with a fake clock and a connection in memory. It returns the results of Complete and the time
// that Complete took. The given function (handle) writes the stream with two functions: the first (say) sends a text, and the
// second (pause) waits for a given time, or until the client closes the connection. The function of [llm.WithStream] waits for
// some time at each delta (listen).
func within(t *testing.T, timeout, idle, listen time.Duration, handle func(say func(string), pause func(time.Duration)), edit ...func(*openai.Options)) (reply llm.Reply, took time.Duration, err error) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
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
		go func() { _ = server.Serve(listener) }()
		transport := &http.Transport{DialContext: listener.dial}
		options := openai.Options{
			BaseURL: "http://memory/v1", Timeout: timeout, IdleTimeout: idle, HTTPClient: &http.Client{Transport: transport},
		}
		for _, e := range edit {
			e(&options)
		}
		client, newErr := openai.New(options)
		require.NoError(t, newErr)

		start := time.Now()
		reply, err = client.Complete(llm.WithStream(t.Context(), func(llm.Delta) { <-time.After(listen) }), ask())
		took = time.Since(start)

		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
		synctest.Wait()
	})
	return reply, took, err
}

func TestAStreamThatGoesSilentIsGivenUp(t *testing.T) {
	t.Parallel()
	_, took, err := within(t, time.Hour, time.Minute, 0, func(say func(string), pause func(time.Duration)) {
		say("data: " + text("The") + "\n\n")
		pause(50 * time.Second)
		say(": keep-alive\n\n")
		pause(50 * time.Second)
		say("data: " + text(" wea") + "\n\n")
		pause(time.Hour)
	})
	require.ErrorIs(t, err, &llm.Error{Class: llm.Connection})
	require.ErrorContains(t, err, "the endpoint sent nothing for 1m0s")
	require.Equal(t, 160*time.Second, took)
}

func TestAModelMayThinkForAsLongAsItIsGiven(t *testing.T) {
	t.Parallel()
	think := func(d time.Duration) func(func(string), func(time.Duration)) {
		return func(say func(string), pause func(time.Duration)) {
			say(`data: {"choices":[{"delta":{"role":"assistant","content":""}}]}` + "\n\n")
			pause(d)
			say("data: " + text("42") + "\n\ndata: " + stop + "\n\n")
		}
	}
	reply, _, err := within(t, time.Hour, time.Minute, 0, think(59*time.Minute))
	require.NoError(t, err)
	require.Equal(t, "42", reply.Message.Content)

	_, took, err := within(t, time.Hour, time.Minute, 0, think(61*time.Minute))
	require.ErrorIs(t, err, &llm.Error{Class: llm.Connection})
	require.ErrorContains(t, err, "no complete response within 1h0m0s")
	require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's context has not ended")
	require.Equal(t, time.Hour, took)
}

// The idle timeout counts only the time in which the client waits for the endpoint. The time that the listener takes does not
// count.
func TestAListenerMayTakeItsTime(t *testing.T) {
	t.Parallel()
	reply, _, err := within(t, time.Hour, time.Minute, 5*time.Minute, func(say func(string), pause func(time.Duration)) {
		say("data: " + text("4") + "\n\n")
		pause(330 * time.Second)
		say("data: " + text("2") + "\n\n")
		pause(330 * time.Second)
		say("data: " + stop + "\n\n")
	})
	require.NoError(t, err)
	require.Equal(t, "42", reply.Message.Content)
}

// A model may write for longer than Options.Timeout, if it writes.
func TestStreamAtWorkHasNoTotalLimit(t *testing.T) {
	t.Parallel()
	reply, took, err := within(t, 2*time.Minute, time.Minute, 0, func(say func(string), pause func(time.Duration)) {
		for range 100 {
			say("data: " + text("and ") + "\n\n")
			pause(30 * time.Second)
		}
		say("data: " + stop + "\n\ndata: [DONE]\n\n")
	})
	require.NoError(t, err)
	require.Len(t, reply.Message.Content, 400)
	require.Equal(t, 50*time.Minute, took)
}

// Comments that keep the connection open are no text. Options.Timeout stops a stream that has nothing else.
func TestStreamOfCommentsHasALimit(t *testing.T) {
	t.Parallel()
	_, took, err := within(t, 10*time.Minute, time.Minute, 0, func(say func(string), pause func(time.Duration)) {
		say("data: " + text("and ") + "\n\n")
		for range 100 {
			pause(30 * time.Second)
			say(": keep-alive\n\n")
		}
	})
	require.ErrorContains(t, err, "no complete response within 10m0s")
	require.Equal(t, 10*time.Minute, took)
}

// If the server does not close the connection after a complete reply, the client returns the reply. It waits for the usage, but
// at most 5 seconds.
func TestAWholeReplyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	reply, took, err := within(t, time.Hour, time.Minute, 0, func(say func(string), pause func(time.Duration)) {
		say("data: " + text("42") + "\n\ndata: " + stop + "\n\n")
		pause(2 * time.Second)
		say(`data: {"choices":[],"usage":{"prompt_tokens":7}}` + "\n\n")
		for range 100 {
			pause(time.Second)
			say(": keep-alive\n\n")
		}
	})
	require.NoError(t, err)
	require.Equal(t, "42", reply.Message.Content)
	require.Equal(t, 7, reply.Usage.InputTokens)
	require.Equal(t, 5*time.Second, took)
}

// A finish reason in each event does not end the reading, even if the model pauses. Such a stream is complete at its end, and not if
// the connection breaks.
func TestFinishReasonInEachEventDoesNotEndTheReading(t *testing.T) {
	t.Parallel()
	part := func(s string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":` + quoted(s) + `},"finish_reason":"stop"}]}` + "\n\n"
	}
	for end, whole := range map[string]bool{"data: [DONE]\n\n": true, "": true} {
		reply, _, err := within(t, time.Hour, time.Minute, 0, func(say func(string), pause func(time.Duration)) {
			for _, word := range []string{"one ", "two ", "three"} {
				say(part(word))
				pause(20 * time.Second)
			}
			say(end)
		})
		require.Equal(t, whole, err == nil)
		require.Equal(t, "one two three", reply.Message.Content)
	}
	_, _, err := within(t, time.Hour, time.Minute, 0, func(say func(string), _ func(time.Duration)) {
		say(part("one "))
		say(part("two "))
		panic(http.ErrAbortHandler)
	})
	require.ErrorIs(t, err, &llm.Error{Class: llm.Connection})
}

// pipes is a listener whose connections are in memory.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.accept <- far
	return near, nil
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }
