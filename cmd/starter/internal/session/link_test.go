package session

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// On this machine, link returns an address only if a Web UI answers there.
func TestLinkIsOfAWebUIThatAnswers(t *testing.T) {
	ui := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	defer ui.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	require.True(t, answersAsUI(t.Context(), ui.URL))
	require.False(t, answersAsUI(t.Context(), other.URL))
	ui.Close()
	require.False(t, answersAsUI(t.Context(), ui.URL))

	t.Setenv(uiEnv, "")
	require.Empty(t, (&Flags{Address: "127.0.0.1:1", Namespace: "n"}).Link(t.Context(), "a"))
	require.Empty(t, (&Flags{Address: "example.com:7233", Namespace: "n"}).Link(t.Context(), "a"))
	require.Equal(t, "https://cloud.temporal.io/namespaces/n.acct/workflows/a",
		(&Flags{Address: "n.acct.tmprl.cloud:7233", Namespace: "n.acct"}).Link(t.Context(), "a"))
	t.Setenv("TEMPORAL_TLS_SERVER_NAME", "n.acct.tmprl.cloud")
	require.Equal(t, "https://cloud.temporal.io/namespaces/n.acct/workflows/a",
		(&Flags{Address: "vpce-1.eu-central-1.vpce.amazonaws.com:7233", Namespace: "n.acct"}).Link(t.Context(), "a"), "a private endpoint")
	t.Setenv(uiEnv, "https://ui.example/")
	require.Equal(t, "https://ui.example/namespaces/n/workflows/a%2Fb", (&Flags{Namespace: "n"}).Link(t.Context(), "a/b"))
}
