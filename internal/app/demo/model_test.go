package demo

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxyTo returns the counting proxy in front of an endpoint, and its URL.
func proxyTo(t *testing.T, endpoint http.HandlerFunc) (m *model, address string) {
	t.Helper()
	target := httptest.NewServer(endpoint)
	t.Cleanup(target.Close)
	base, err := url.Parse(target.URL + "/base")
	require.NoError(t, err)
	m = &model{}
	proxy := httptest.NewServer(m.proxy(base))
	t.Cleanup(proxy.Close)
	return m, proxy.URL
}

func ask(t *testing.T, address, key string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/chat/completions", nil)
	require.NoError(t, err)
	r.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// Only what was answered twice under one key counts as repeated: a request that was refused was not paid for.
func TestRepeatedIsWhatWasAnsweredTwice(t *testing.T) {
	status := http.StatusOK
	m, address := proxyTo(t, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/base/chat/completions", r.URL.Path)
		w.WriteHeader(status)
	})
	answered := func(key string) {
		_, err := io.ReadAll(ask(t, address, key).Body)
		require.NoError(t, err)
	}
	// The proxy counts a request after its client has the response.
	counted := func(want ModelCount) {
		require.Eventually(t, func() bool { return m.count() == want }, 10*time.Second, time.Millisecond, "%+v", want)
	}
	answered("a")
	counted(ModelCount{Requests: 1, Keys: 1, Answered: 1})
	status = http.StatusServiceUnavailable
	answered("b")
	status = http.StatusOK
	answered("b")
	counted(ModelCount{Requests: 3, Keys: 2, Answered: 2})
	answered("a")
	counted(ModelCount{Requests: 4, Keys: 2, Answered: 3, Repeated: 1})
}

// A client closes the connection as soon as it has read the end mark of a stream. Its request counts as answered, and a stream
// that is cut off before the mark does not.
func TestAnAnswerEndsWithItsEndMark(t *testing.T) {
	for name, c := range map[string]struct {
		last string
		want int
	}{"whole": {"NE]\n\n", 1}, "cut off": {"", 0}} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{})
			m, address := proxyTo(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				for _, piece := range []string{"data: {}\n\n", "data: [DO", c.last} {
					_, _ = io.WriteString(w, piece)
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done() // the end of the connection, not of the stream
			})
			answer := ask(t, address, "a")
			text := "data: {}\n\ndata: [DO" + c.last
			_, err := io.ReadFull(answer.Body, make([]byte, len(text)))
			require.NoError(t, err)
			answer.Body.Close()
			<-ended
			require.Equal(t, c.want, m.count().Answered)
		})
	}
}

func TestRequestsEndWithTheDemo(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	address, err := serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		end()
		<-r.Context().Done()
	}))
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	_, err = http.DefaultClient.Do(r)
	require.Error(t, err)
}
