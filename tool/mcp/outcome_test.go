package mcp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/mcp"
)

// The deployment of a new server ends the session. The server refuses the next call, which therefore did not run. The call is
// sent once more, in a new session.
func TestLostSessionIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	source := s.connect(legacy)
	create := find(t, source, "create")
	s.deploy(nil)
	got := <-start(tool.WithInfo(t.Context(), tool.Info{Key: "k"}), create, "")
	require.NoError(t, got.err)
	require.Equal(t, []string{"create k"}, s.done())
	require.Len(t, s.calls(), 2, "one was turned away with 404")

	// The same happens if the server reports the lost session with status 400 and its own error code.
	s.spoilCalls(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
		s.spoilCalls(nil)
	})
	got = <-start(t.Context(), create, "")
	require.NoError(t, got.err)
	require.Len(t, s.done(), 2)
}

// If a call fails after it was sent, its outcome is unknown and it is not sent again.
func TestCallThatMayHaveRunIsNotSentTwice(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]http.HandlerFunc{
		"connection dies before the response": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		},
		"connection dies in the stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"stream ends without an answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
		},
		"body is cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"jsonrpc":`)
		},
		"body is not JSON-RPC": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `hello`)
		},
		"gateway gives up": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"server error":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, revision := range []func(*mcp.Server){nil, legacy} {
				s := newSite(t, nil)
				source := s.connect(revision)
				create := find(t, source, "create") // over a connection that is now reused
				s.spoilCalls(spoil)
				got := <-start(t.Context(), create, "")
				require.ErrorIs(t, got.err, tool.ErrOutcomeUnknown)
				require.NotContains(t, got.err.Error(), secret)
				require.Len(t, s.calls(), 1)

				s.spoilCalls(nil)
				got = <-start(t.Context(), create, "")
				require.NoError(t, got.err, "the next call finds a way")
			}
		})
	}
}

func TestCallThatWasTurnedAwayDidNotRun(t *testing.T) {
	t.Parallel()
	for status, body := range map[int]string{
		http.StatusUnauthorized:       secret + "-header is not valid",
		http.StatusForbidden:          `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"` + secret + `"}}`,
		http.StatusTooManyRequests:    "",
		http.StatusMovedPermanently:   "",
		http.StatusNotFound:           "",
		http.StatusPermanentRedirect:  "",
		http.StatusMethodNotAllowed:   "",
		http.StatusServiceUnavailable: "unknown",
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the headers went elsewhere") }))
			t.Cleanup(elsewhere.Close)
			s := newSite(t, nil)
			create := find(t, s.connect(nil), "create")
			s.spoilCalls(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", elsewhere.URL)
				w.WriteHeader(status)
				fmt.Fprint(w, body)
			})
			got := <-start(t.Context(), create, "")
			require.Error(t, got.err)
			require.Equal(t, body == "unknown", strings.Contains(got.err.Error(), "outcome unknown"), got.err)
			require.NotContains(t, got.err.Error(), secret)
			if status != http.StatusNotFound { // 404 may mean that the session is lost
				require.Len(t, s.calls(), 1)
			}
			require.Empty(t, s.done())
		})
	}
}

func TestServerThatIsDownLeavesACallNotRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	// Without this, the server could close a kept-alive connection during the call.
	s.Config.SetKeepAlivesEnabled(false)
	create := find(t, s.connect(legacy), "create")
	require.NoError(t, s.Listener.Close())
	got := <-start(t.Context(), create, "")
	require.ErrorContains(t, got.err, "create did not run")
	require.ErrorContains(t, got.err, "connection refused")
	require.NotErrorIs(t, got.err, tool.ErrOutcomeUnknown)
	require.NotContains(t, got.err.Error(), secret)
}

func TestCloseEndsACallOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	source := s.connect(legacy)
	done := start(t.Context(), find(t, source, "block"), "")
	require.Eventually(t, func() bool { return len(s.done()) == 1 }, patience, 5*time.Millisecond)
	require.NoError(t, source.Close())
	require.ErrorIs(t, (<-done).err, tool.ErrOutcomeUnknown)
}
