package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/catalogue"
	"github.com/reagent-dev/reagent/llm/openai"
)

// canned is an [http.RoundTripper] that returns a response with a fixed body.
type canned struct {
	kind string
	body io.Reader
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(c.body)}, nil
}

// answer returns the reply, the deltas and the error of a client that gets a response with the given Content-Type (kind) and
// body.
func answer(t *testing.T, kind string, body io.Reader) (llm.Reply, []llm.Delta, error) {
	client, err := openai.New(openai.Options{HTTPClient: &http.Client{Transport: canned{kind, body}}})
	require.NoError(t, err)
	req := ask()
	req.Tools = offered()
	var pieces []llm.Delta
	reply, err := client.Complete(llm.WithStream(t.Context(), func(d llm.Delta) { pieces = append(pieces, d) }), req)
	return reply, pieces, err
}

var sendable = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// valid checks that the reply or the error of a client is valid.
func valid(t *testing.T, reply llm.Reply, err error) {
	if err != nil {
		var told *llm.Error
		require.ErrorAs(t, err, &told)
		require.NotEmpty(t, told.Class)
		require.True(t, utf8.ValidString(err.Error()))
		require.Less(t, len(err.Error()), 1000)
		return
	}
	require.NoError(t, reply.Validate())
	require.Equal(t, llm.Assistant, reply.Message.Role)
	encoded, err := json.Marshal(reply)
	require.NoError(t, err)
	var back llm.Reply
	require.NoError(t, json.Unmarshal(encoded, &back))
	require.Equal(t, reply, back, "a reply is the same after a way through history")
	ids := map[string]bool{"": true}
	for _, call := range reply.Message.ToolCalls {
		require.False(t, ids[call.ID])
		ids[call.ID] = true
		require.Regexp(t, sendable, call.Name)
	}
}

// FuzzStream reads any bytes as a stream. The result must be a valid reply or error. It must be the same if the bytes come one by
// one.
func FuzzStream(f *testing.F) {
	seedQuirks(f, true)
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\r\rdata: " + stop + "\r\n"))
	f.Add([]byte("event: error\ndata: {\ndata: }\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, pieces, err := answer(t, "text/event-stream", bytes.NewReader(body))
		valid(t, reply, err)

		slow, slowPieces, slowErr := answer(t, "text/event-stream", iotest.OneByteReader(bytes.NewReader(body)))
		require.Equal(t, reply, slow)
		require.Equal(t, pieces, slowPieces)
		require.Equal(t, err == nil, slowErr == nil, "%v, %v", err, slowErr)
		if err == nil && len(pieces) > 0 && !bytes.Contains(body, []byte("finish_reason")) {
			require.Contains(t, string(body), "[DONE]", "only a finish reason or [DONE] ends a stream")
		}
	})
}

// FuzzReply reads any bytes as a whole reply.
func FuzzReply(f *testing.F) {
	seedQuirks(f, false)
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, _, err := answer(t, "application/json", bytes.NewReader(body))
		valid(t, reply, err)
	})
}

// seedQuirks adds the bodies in testdata/quirks to the seed corpus, except large ones.
func seedQuirks(f *testing.F, streamed bool) {
	for _, q := range catalogue.Read(f, "testdata/quirks/*.json") {
		if body := q.Bytes(); (q.SSE != nil) == streamed && len(body) < 10_000 {
			f.Add(body)
		}
	}
}
