package builtin_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/tool/builtin"
)

func page(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestHTTPGetReadsText(t *testing.T) {
	k := newKit(t, builtin.Options{AllowPrivate: true, MaxHTTPBytes: 100})
	for name, c := range map[string]struct {
		contentType, body, want string
		status                  int
	}{
		"html":    {"text/html; charset=utf-8", "<p>é</p>", "HTTP 200 OK\n\n<p>é</p>", 200},
		"latin1":  {"text/plain; charset=iso-8859-1", "caf\xe9", "HTTP 200 OK\n\ncafé", 200},
		"json":    {"application/problem+json", "{}", "HTTP 404 Not Found\n\n{}", 404},
		"binary":  {"image/png", strings.Repeat("\x00", 60), "HTTP 200 OK\n\n[image/png, 60 bytes: not shown]", 200},
		"long":    {"text/plain", strings.Repeat("x", 200), "HTTP 200 OK\n\n" + strings.Repeat("x", 100) + "\n[cut after 100 bytes]", 200},
		"longbin": {"image/png", strings.Repeat("\x00", 200), "HTTP 200 OK\n\n[image/png, more than 100 bytes: not shown]", 200},
	} {
		t.Run(name, func(t *testing.T) {
			url := page(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.contentType)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			})
			require.Equal(t, tool.Result{Content: c.want, IsError: c.status >= 400}, k.run("http_get", map[string]any{"url": url}))
		})
	}
}

func TestHTTPGetSendsTheKey(t *testing.T) {
	k := newKit(t, builtin.Options{AllowPrivate: true})
	url := page(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("Idempotency-Key")) })
	ctx := tool.WithInfo(t.Context(), tool.Info{Key: "tool-42"})
	res, err := tool.Run(ctx, k.tools["http_get"], `{"url": "`+url+`"}`)
	require.NoError(t, err)
	require.Equal(t, "HTTP 200 OK\n\ntool-42", res.Content)
}

func TestHTTPGetRefusesPrivateAddresses(t *testing.T) {
	reached := false
	url := page(t, func(http.ResponseWriter, *http.Request) { reached = true })
	port := url[strings.LastIndex(url, ":")+1:]
	t.Setenv("HTTP_PROXY", url)
	k := newKit(t, builtin.Options{})
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"} {
		k.fails("http_get", map[string]any{"url": "http://" + host + ":" + port + "/"})
	}
	require.Contains(t, k.fails("http_get", map[string]any{"url": url}), "private and local addresses are not allowed")
	require.False(t, reached)
	for _, url := range []string{"file:///etc/passwd", "ftp://example.com", "http://", "//example.com", "http://a b", ":"} {
		k.fails("http_get", map[string]any{"url": url})
	}
}

func TestHTTPGetLimitsRedirects(t *testing.T) {
	k := newKit(t, builtin.Options{AllowPrivate: true})
	url := page(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	require.Contains(t, k.fails("http_get", map[string]any{"url": url}), "more than 5 redirects")
	url = page(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "ftp://x/", http.StatusFound) })
	require.Contains(t, k.fails("http_get", map[string]any{"url": url}), "only http and https")
}

func TestHTTPGetEndsInTime(t *testing.T) {
	k := newKit(t, builtin.Options{AllowPrivate: true, HTTPTimeout: 50 * time.Millisecond})
	ended := make(chan struct{})
	url := page(t, func(w http.ResponseWriter, r *http.Request) { <-ended })
	t.Cleanup(func() { close(ended) }) // before the server's own cleanup
	require.Contains(t, k.fails("http_get", map[string]any{"url": url + "/?token=hidden"}), "did not answer within 50ms")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	got := k.fails("http_get", map[string]any{"url": "http://" + l.Addr().String() + "/?token=hidden"})
	require.Contains(t, got, "connection refused")
	require.NotContains(t, got, "hidden")
}
