package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/config"
)

// probe returns the status and the body of an answer to a probe.
func probe(t *testing.T, url string) (int, string) {
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "application/json", response.Header.Get("Content-Type"))
	return response.StatusCode, strings.TrimSpace(string(body))
}

// A worker is ready while it serves, Temporal answers and the polls work. It lives until it fails. The errors of Temporal are in no answer.
func TestHealthSaysWhyAWorkerIsNotReady(t *testing.T) {
	web, err := listen(t.Context(), "127.0.0.1:0", slog.Default())
	require.NoError(t, err)
	t.Cleanup(func() { web.stop(context.Background()) })
	h := newHealth()
	h.register(web.mux)
	web.serve(func(err error) { t.Errorf("failed: %v", err) })
	address := web.listener.Addr().String()
	ready := func(reason string) {
		t.Helper()
		status, body := probe(t, "http://"+address+readyPath)
		err := Ready(t.Context(), address)
		if reason == "" {
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, `{"ready":true}`, body)
			require.NoError(t, err)
			return
		}
		require.Equal(t, http.StatusServiceUnavailable, status)
		var said readiness
		require.NoError(t, json.Unmarshal([]byte(body), &said))
		require.Equal(t, readiness{Reason: reason}, said)
		require.EqualError(t, err, "the worker at "+address+" is not ready: 503 Service Unavailable: "+body)
	}
	live := func(want bool) {
		t.Helper()
		status, _ := probe(t, "http://"+address+livePath)
		require.Equal(t, want, status == http.StatusOK)
	}
	ready(reasonStarting)
	live(true)

	var refused error
	calls := 0
	h.serving(nil)
	h.answers = func(context.Context) error { calls++; return refused }
	ready(reasonNoPolling)
	h.polls.begin(pollKind{}, time.Now())
	h.polls.begin(pollKind{activities: true}, time.Now())
	ready("")
	require.LessOrEqual(t, calls, 3)
	refused, h.asked = errors.New("a secret"), time.Time{}
	ready(reasonNoAnswer)
	live(true)
	h.end(reasonDraining)
	ready(reasonDraining)
	live(true)

	h = newHealth()
	h.end(reasonFailed)
	h.end(reasonDraining)
	require.Equal(t, reasonFailed, h.state())
	response, err := http.Post("http://"+address+readyPath, "text/plain", nil)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
}

// The error of a check names what to set, or the address at which nobody answers.
func TestReadyNeedsTheAddressOfAWorker(t *testing.T) {
	t.Setenv(HealthEnv, "")
	for address, want := range map[string]string{
		"":            "--ready needs the address of the worker: set --health-listen or REAGENT_HEALTH_LISTEN, as for the worker",
		"none":        "--ready needs the address of the worker: set --health-listen or REAGENT_HEALTH_LISTEN, as for the worker",
		"somewhere":   `--health-listen is "somewhere": write host:port, such as 127.0.0.1:8091`,
		"127.0.0.1:1": "ask the worker at 127.0.0.1:1: ",
		":1":          "ask the worker at :1: dial tcp 127.0.0.1:1: ",
	} {
		require.ErrorContains(t, Ready(t.Context(), address), want)
	}
	t.Setenv(HealthEnv, "127.0.0.1:1")
	require.ErrorContains(t, Ready(t.Context(), ""), "ask the worker at 127.0.0.1:1: ")
}

// Callbacks and probes may have one address. Probes are answered before the worker serves and while it stops, and callbacks are not.
func TestCallbacksAndProbesShareAnAddress(t *testing.T) {
	t.Setenv("CALLBACK_SECRET", "a-secret-of-at-least-24-bytes")
	web, err := listen(t.Context(), "127.0.0.1:0", slog.Default())
	require.NoError(t, err)
	t.Cleanup(func() { web.stop(context.Background()) })
	h := newHealth()
	h.register(web.mux)
	fail := func(err error) { t.Errorf("failed: %v", err) }
	web.serve(fail)
	c := config.Callbacks{URL: "https://agents.example.com", Secret: "${CALLBACK_SECRET}"}
	s, err := newCallbackServer(t.Context(), web, web.listener.Addr().String(), c, nil, nil, slog.Default())
	require.NoError(t, err)
	url := "http://" + web.listener.Addr().String()
	answered := make(chan int, 1)
	post := func() {
		response, err := http.Post(url+"/x", "text/plain", strings.NewReader("done"))
		if err != nil {
			answered <- 0
			return
		}
		response.Body.Close()
		answered <- response.StatusCode
	}
	go post()
	status, _ := probe(t, url+livePath)
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, answered, "the worker does not serve yet")
	s.start(fail)
	require.Equal(t, http.StatusUnauthorized, <-answered)
	s.stop()
	s.stop()
	post()
	require.Equal(t, http.StatusServiceUnavailable, <-answered)
	status, body := probe(t, url+readyPath)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, reasonStarting)
}
