package webhook_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/webhook"
)

// The expected signature is that of the libraries of Standard Webhooks.
func TestSignatureIsThatOfTheSpecification(t *testing.T) {
	key, err := webhook.Key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		webhook.Sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)))
}

func TestSecretsAreRefusedWithoutBeingShown(t *testing.T) {
	for secret, problem := range map[string]string{
		"short-secret": "use a secret of at least 24", "whsec_c2hvcnQ=": "use a secret of at least 24", "whsec_no base64, but long enough": "not base64",
	} {
		_, err := webhook.Key(secret)
		require.ErrorContains(t, err, problem)
		require.NotContains(t, err.Error(), strings.TrimPrefix(secret, "whsec_"))
	}
	key, err := webhook.Key("a secret that is not base64")
	require.NoError(t, err)
	require.Equal(t, "a secret that is not base64", string(key))
}

// A message is sent again only if a later attempt may succeed. An error never contains the URL.
func TestStatusSaysWhetherAMessageIsSentAgain(t *testing.T) {
	var status int
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if header = r.Header; status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "7")
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "a reply")
	}))
	defer server.Close()
	m := webhook.Message{URL: server.URL + "/secret-path", Headers: map[string]string{"X-Key": "k"}, ID: "notify-1", Body: []byte("{}")}
	for code, retry := range map[int]bool{200: false, 204: false, 307: false, 400: false, 404: false, 408: true, 410: false, 429: true, 500: true, 503: true} {
		status = code
		err := webhook.Post(t.Context(), m, time.Unix(9, 0))
		require.Equal(t, "k", header.Get("X-Key"))
		require.Equal(t, "9", header.Get(webhook.TimestampHeader))
		require.Empty(t, header.Get(webhook.SignatureHeader), "there is no key")
		if code < 300 {
			require.NoError(t, err)
			continue
		}
		var failed *webhook.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, retry, failed.Retry, code)
		require.Contains(t, err.Error(), "a reply")
		require.NotContains(t, err.Error(), "secret-path")
		if code == http.StatusTooManyRequests {
			require.Equal(t, 7*time.Second, failed.After)
		}
	}
	server.Close()
	var failed *webhook.Error
	err := webhook.Post(t.Context(), m, time.Unix(9, 0))
	require.ErrorAs(t, err, &failed)
	require.True(t, failed.Retry, "a connection that fails")
	require.NotContains(t, err.Error(), "secret-path")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorAs(t, webhook.Post(ended, m, time.Unix(9, 0)), &failed)
}
