package serve

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/config"
)

func TestAddressForCallbacks(t *testing.T) {
	c := &config.Callbacks{Listen: "127.0.0.1:1"}
	for _, k := range []struct {
		callbacks     *config.Callbacks
		flag, address string
	}{{nil, "", ""}, {nil, "none", ""}, {c, "", "127.0.0.1:1"}, {c, "none", ""}, {c, "127.0.0.1:2", "127.0.0.1:2"}, {&config.Callbacks{}, "", ""}} {
		address, err := listenAddress(k.callbacks, k.flag)
		require.NoError(t, err)
		require.Equal(t, k.address, address)
	}
	_, err := listenAddress(nil, "127.0.0.1:2")
	require.ErrorContains(t, err, "--listen needs callbacks")
}

// Results are accepted at the path of the URL and nowhere else. An address that another program has is an error that says so. The
// address is free again afterwards.
func TestCallbacksAreServed(t *testing.T) {
	t.Setenv("CALLBACK_SECRET", "a-secret-of-at-least-24-bytes")
	c := config.Callbacks{URL: "https://agents.example.com/callbacks/", Secret: "${CALLBACK_SECRET}"}
	s, err := newCallbackServer(t.Context(), nil, "127.0.0.1:0", c, nil, nil, slog.Default())
	require.NoError(t, err)
	address := s.web.listener.Addr().String()
	require.Equal(t, "Callbacks   https://agents.example.com/callbacks/, accepted here at http://"+address+"/callbacks\n", callbacksText(&c, s))
	require.Equal(t, "Callbacks   https://agents.example.com/callbacks/; this worker does not accept them\n", callbacksText(&c, nil))
	require.Empty(t, callbacksText(nil, nil))
	_, err = newCallbackServer(t.Context(), nil, address, c, nil, nil, slog.Default())
	require.ErrorContains(t, err, "callbacks: listen at "+address+": ")
	require.ErrorContains(t, err, "address already in use; choose another address with callbacks.listen or --listen, or")
	s.start(func(err error) { t.Errorf("failed: %v", err) })
	for path, status := range map[string]int{"/callbacks/x": http.StatusUnauthorized, "/callbacks/": http.StatusNotFound, "/callbacks/x/": http.StatusNotFound, "/callbacks/x/y": http.StatusNotFound, "/": http.StatusNotFound} {
		response, err := http.Post("http://"+address+path, "text/plain", strings.NewReader("done"))
		require.NoError(t, err)
		var said map[string]any
		require.NoError(t, json.NewDecoder(response.Body).Decode(&said), path)
		response.Body.Close()
		require.Equal(t, status, response.StatusCode, path)
		require.Equal(t, "application/json", response.Header.Get("Content-Type"), path)
		require.Contains(t, said["error"], "use the URL in the field callback of the notification", path)
	}
	s.stop()
	s.stop()
	again, err := newCallbackServer(t.Context(), nil, address, c, nil, nil, slog.Default())
	require.NoError(t, err)
	again.stop() // it was never started
	_, err = newCallbackServer(t.Context(), nil, address, config.Callbacks{URL: c.URL, Secret: "${UNSET_SECRET}"}, nil, nil, slog.Default())
	require.EqualError(t, err, "callbacks: secret: the environment variable UNSET_SECRET is not set; set it in the environment of the worker")
}
