package codecserver

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/reagent-dev/reagent/internal/encryption"
)

const (
	token = "0123456789abcdef"
	ui    = "https://temporal.example.com"
)

func codec(t *testing.T) converter.PayloadCodec {
	keys, err := encryption.Parse([]byte("keys: {k: " + base64.StdEncoding.EncodeToString(make([]byte, 32)) + "}"))
	require.NoError(t, err)
	return keys.Codec
}

// served returns the address of a server. It ends with the test.
func served(t *testing.T, o Options) string {
	o.Codec, o.Listen = codec(t), "127.0.0.1:0"
	s, err := New(t.Context(), o)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, "", "") }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return "http://" + s.Address()
}

// asked returns the status and the headers of an answer.
func asked(t *testing.T, method, url, body string, headers ...string) *http.Response {
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	response.Body.Close()
	return response
}

// A client of the SDK encodes and decodes, with and without a namespace in the path, by a token or by a name and a password. Nobody else does.
func TestOnlyClientsWithCredentialsDecode(t *testing.T) {
	auth, err := ParseAuth("Bearer " + token + "\n\nbasic ann:a longer password\n")
	require.NoError(t, err)
	at := served(t, Options{Auth: auth})
	plain := []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"text"`)}}
	for header, accepted := range map[string]bool{
		"Bearer " + token: true, "bearer " + token: true, "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:a longer password")): true,
		"Basic ann:a longer password": false, "Basic " + token: false, "Bearer " + token + "0": false, "Bearer ": false, token: false, "": false,
	} {
		for _, path := range []string{"", "/default"} {
			client := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{Endpoint: at + path, ModifyRequest: func(r *http.Request) error {
				r.Header.Set("Authorization", header)
				return nil
			}})
			sealed, err := client.Encode(plain)
			require.Equal(t, accepted, err == nil, "%q: %v", header, err)
			if !accepted {
				require.ErrorContains(t, err, "Unauthorized")
				require.Equal(t, http.StatusUnauthorized, asked(t, "GET", at, "", "Authorization", header).StatusCode)
				continue
			}
			require.Equal(t, "k", string(sealed[0].Metadata["encryption-key-id"]))
			opened, err := client.Decode(sealed)
			require.NoError(t, err)
			require.Equal(t, `"text"`, string(opened[0].Data))
			require.Equal(t, http.StatusOK, asked(t, "GET", at, "", "Authorization", header).StatusCode)
		}
	}
	require.Equal(t, http.StatusOK, asked(t, "GET", at+"/healthz", "").StatusCode, "a probe has no credentials")
}

// Of all pages, only those of the Web UI may send requests, and read the answers.
func TestOnlyTheWebUIOfAllPagesIsAnswered(t *testing.T) {
	at := served(t, Options{Origins: []string{ui}})
	preflight := asked(t, "OPTIONS", at+"/decode", "", "Origin", ui, "Access-Control-Request-Method", "POST", "Access-Control-Request-Private-Network", "true")
	require.Equal(t, http.StatusNoContent, preflight.StatusCode)
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": ui, "Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Methods": "POST",
		"Access-Control-Allow-Headers": "Authorization, Content-Type, X-Namespace", "Access-Control-Allow-Private-Network": "true", "Vary": "Origin",
	} {
		require.Equal(t, want, preflight.Header.Get(name), name)
	}
	answer := asked(t, "POST", at+"/decode", `{"payloads":[]}`, "Origin", ui)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, ui, answer.Header.Get("Access-Control-Allow-Origin"))
	for _, origin := range []string{"https://evil.example.com", ui + ":444", "http://temporal.example.com", "null", at} {
		for _, method := range []string{"OPTIONS", "POST"} {
			answer := asked(t, method, at+"/decode", `{"payloads":[]}`, "Origin", origin)
			require.Equal(t, http.StatusForbidden, answer.StatusCode, "%s %s", method, origin)
			require.Empty(t, answer.Header.Get("Access-Control-Allow-Origin"))
		}
	}
}

// What is no request of a codec client is refused with a status that is final for a worker.
func TestOtherRequestsAreRefused(t *testing.T) {
	at := served(t, Options{DecodeOnly: true})
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/decode", `{"payloads":[]}`, http.StatusOK},
		{"POST", "/encode", `{"payloads":[]}`, http.StatusForbidden},
		{"POST", "/default/encode", `{"payloads":[]}`, http.StatusForbidden},
		{"POST", "/decode", `{"payloads":[{"data":"dGV4dA=="}]}`, http.StatusBadRequest},
		{"POST", "/decode", strings.Repeat(" ", maxBody+1), http.StatusRequestEntityTooLarge},
		{"POST", "/decode", `{"payloads":[` + strings.Repeat("{},", 2*maxPayloads) + `{}]}`, http.StatusRequestEntityTooLarge},
		{"POST", "/decode", `{"payloads":[{"metadata":{` + strings.Repeat(`"a":"",`, 10*maxPayloads) + `"b":""}}]}`, http.StatusRequestEntityTooLarge},
		{"POST", "/decode", "no JSON", http.StatusBadRequest},
		{"GET", "/decode", "", http.StatusMethodNotAllowed},
		{"POST", "/download", "", http.StatusNotFound},
		{"POST", "/a/b/decode", "", http.StatusNotFound},
	} {
		require.Equal(t, c.status, asked(t, c.method, at+c.path, c.body).StatusCode, c)
	}
}

// A server that other machines reach has credentials.
func TestOpenServerListensOnThisMachineOnly(t *testing.T) {
	auth, err := ParseAuth("Bearer " + token)
	require.NoError(t, err)
	_, err = New(t.Context(), Options{Codec: codec(t), Listen: "0.0.0.0:0"})
	require.ErrorIs(t, err, ErrOpen)
	s, err := New(t.Context(), Options{Codec: codec(t), Listen: "0.0.0.0:0", Auth: auth})
	require.NoError(t, err)
	ended, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, s.Serve(ended, "", ""))
	_, err = New(t.Context(), Options{Codec: codec(t), Listen: "127.0.0.1:99999"})
	require.ErrorContains(t, err, "listen at 127.0.0.1:99999: ")
}

func TestMistakesOfCredentialsAndOriginsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "there are no credentials",
		token:                             "line 1: write `Bearer TOKEN` or `Basic USER:PASSWORD`",
		"Bearer " + token[:9]:             "line 1: the token must have at least 16 characters",
		"\nBearer " + token + " " + token: "line 2: the token must have at least 16 characters and no spaces",
		"Basic " + token:                  "line 1: write `Basic USER:PASSWORD`, with a password of at least 16 characters",
		"Basic ann:012345678":             "line 1: write `Basic USER:PASSWORD`",
		"Basic :" + token:                 "line 1: write `Basic USER:PASSWORD`",
	} {
		_, err := ParseAuth(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "012345678", text)
	}
	for _, origin := range []string{"", "*", "https://*", "temporal.example.com", "https://temporal.example.com/", "https://a@temporal.example.com", "file://x", "null"} {
		require.ErrorContains(t, CheckOrigins([]string{ui, origin}), "is not the origin of a page", origin)
	}
	require.NoError(t, CheckOrigins([]string{ui, "http://localhost:8233"}))
}
