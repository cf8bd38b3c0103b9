package tool

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/traceparent"
)

// A POST with the key of its call leaves once, also if its connection is lost before the response. net/http itself sends it again, if the
// connection has been used before.
func TestPostWithAKeyIsSentOnce(t *testing.T) {
	var posts atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		posts.Add(1)
		require.Equal(t, "the key", r.Header.Get(KeyHeader))
		panic(http.ErrAbortHandler) // ends the connection
	}))
	defer server.Close()
	client := server.Client()
	ctx := WithInfo(t.Context(), Info{Key: "the key"})
	for _, body := range []string{`{"euros":9}`, ""} {
		get, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		response, err := Do(client, get)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		posts.Store(0)
		post, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(body))
		require.NoError(t, err)
		_, err = Do(client, post)
		require.Error(t, err)
		require.EqualValues(t, 1, posts.Load(), "%q", body)
	}
}

// The status of a response is an error with a type.
func TestStatusIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, strings.Repeat("no", 1000), http.StatusConflict)
	}))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	_, err = Do(nil, r)
	var status *HTTPError
	require.ErrorAs(t, err, &status)
	require.Equal(t, http.StatusConflict, status.Status)
	require.Len(t, status.Text, maxStatusText)
	require.ErrorContains(t, err, "the service answered the GET with HTTP 409 Conflict: nono")
}

// A server learns to which trace a request belongs, and a request that says so itself is left as it is.
func TestRequestHasTheTraceOfItsCall(t *testing.T) {
	const parent, own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
	var told []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told = append(told, r.Header.Get(traceparent.Name)) }))
	defer server.Close()
	for _, header := range []string{"", own} {
		r, err := http.NewRequestWithContext(traceparent.Below(t.Context(), parent), http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		if header != "" {
			r.Header.Set(traceparent.Name, header)
		}
		response, err := Do(server.Client(), r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	require.Equal(t, []string{parent, own}, told)
}
