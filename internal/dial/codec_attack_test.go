package dial

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// answering starts a codec server that encodes the payload of the first request and passes all later requests to h. The
// returned function returns the number of later requests.
func answering(t *testing.T, h http.HandlerFunc) (asked func() int) {
	t.Helper()
	n := 0
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 { // the request of the worker at its start
			converter.NewPayloadCodecHTTPHandler(converter.NewZlibCodec(converter.ZlibCodecOptions{AlwaysEncode: true})).ServeHTTP(w, r)
			return
		}
		h(w, r)
	}))
	t.Cleanup(listener.Close)
	t.Setenv("TEMPORAL_CODEC_ENDPOINT", listener.URL)
	return func() int { return n - 1 }
}

func workerConverter(t *testing.T) converter.DataConverter {
	t.Helper()
	opts, err := WorkerOptions("", "")
	require.NoError(t, err)
	return opts.DataConverter
}

// A response 400 is final. A worker once repeated the request for a payload that the codec server could not decode for ever.
func TestAttackRefusalOfTheCodecServerIsFinal(t *testing.T) {
	serveCodec(t, nil)
	asked := answering(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "unknown key", http.StatusBadRequest) })
	dc := workerConverter(t)
	var text string
	payload, err := converter.GetDefaultDataConverter().ToPayload("text")
	require.NoError(t, err)
	for i, each := range []converter.DataConverter{dc, dc.(workflow.ContextAware).WithContext(t.Context())} {
		var refused *CodecError
		require.ErrorAs(t, each.FromPayload(payload, &text), &refused)
		require.Equal(t, CodecError{Status: 400, Message: "unknown key"}, *refused)
		require.Equal(t, i+1, asked())
	}
}

// A redirect would take payloads and the Authorization header to another server.
func TestAttackRedirectOfTheCodecServerIsNotFollowed(t *testing.T) {
	serveCodec(t, nil)
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer thief.Close()
	asked := answering(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	})
	var refused *CodecError
	_, err := workerConverter(t).ToPayload("text")
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusTemporaryRedirect, refused.Status)
	require.Equal(t, 1, asked())
}

// A request ends with its context, for example because the activity was cancelled or timed out.
func TestAttackCodecServerThatIsAwayHoldsNoContext(t *testing.T) {
	serveCodec(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answering(t, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		http.Error(w, "later", http.StatusServiceUnavailable)
	})
	_, err := workerConverter(t).(workflow.ContextAware).WithContext(ctx).ToPayload("text")
	require.ErrorIs(t, err, context.Canceled)
}
