package anthropic_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
)

// keys returns a source of the first key, and of the second one after a refusal.
func keys(first, second string) llm.CredentialSource {
	return func(_ context.Context, refused *llm.Credential) (llm.Credential, error) {
		if refused != nil {
			first = second
		}
		return llm.Credential{APIKey: first}, nil
	}
}

// framed returns the events of a text of server-sent events, as frames.
func framed(text string) []byte {
	var all []byte
	for line := range strings.Lines(text) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			payload := `{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(data)) + `","p":"abc"}`
			all = append(all, standin.Frame("event", "chunk", []byte(payload))...)
		}
	}
	return all
}

// flipped returns the bytes with one bit changed.
func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// announcing returns the beginning of a frame with the given lengths.
func announcing(length, headers uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, length), headers)
}

func TestAFramedStreamMustEnd(t *testing.T) {
	t.Parallel()
	exception := func(kind, message string) []byte {
		return standin.Frame("exception", kind, []byte(`{"message":"`+message+`"}`))
	}
	begun, end := framed(starts+hello), framed(ends+stops)
	for name, test := range map[string]struct {
		body []byte
		want llm.Class // "" means a reply
	}{
		"whole":                     {bytes.Join([][]byte{begun, end}, nil), ""},
		"without message_stop":      {framed(starts + hello + ends), ""},
		"frames of other types":     {bytes.Join([][]byte{standin.Frame("event", "initial-response", nil), begun, standin.Frame("sparkle", "x", nil), end}, nil), ""},
		"an exception after it":     {bytes.Join([][]byte{begun, end, exception("internalServerException", "x")}, nil), ""},
		"garbage after it":          {bytes.Join([][]byte{framed(starts + hello + ends), announcing(1<<31, 0)}, nil), ""},
		"nothing":                   {nil, llm.Connection},
		"cut between frames":        {begun, llm.Connection},
		"cut in the lengths":        {append(bytes.Clone(begun), end[:5]...), llm.Connection},
		"cut in a frame":            {append(bytes.Clone(begun), end[:40]...), llm.Connection},
		"throttled":                 {append(bytes.Clone(begun), exception("throttlingException", "Too many tokens")...), llm.RateLimited},
		"throttled at once":         {exception("throttlingException", "Too many requests, please wait before trying again."), llm.RateLimited},
		"the model failed":          {append(bytes.Clone(begun), exception("modelStreamErrorException", "x")...), llm.ServerError},
		"the model was slow":        {append(bytes.Clone(begun), exception("modelTimeoutException", "x")...), llm.ServerError},
		"the service failed":        {append(bytes.Clone(begun), exception("internalServerException", "x")...), llm.ServerError},
		"the service is away":       {append(bytes.Clone(begun), exception("serviceUnavailableException", "x")...), llm.Overloaded},
		"the request is invalid":    {exception("validationException", "messages: Field required"), llm.InvalidRequest},
		"the request is too long":   {exception("validationException", "Input is too long for requested model."), llm.ContextTooLong},
		"an exception without text": {append(bytes.Clone(begun), standin.Frame("exception", "internalServerException", []byte("x"))...), llm.ServerError},
		"the model's own message": {standin.Frame("exception", "modelStreamErrorException",
			[]byte(`{"message":"failed","originalMessage":"prompt is too long: 3 tokens > 2 maximum","originalStatusCode":400}`)), llm.ContextTooLong},
		"an unknown exception":     {append(bytes.Clone(begun), exception("newException", "x")...), llm.BadReply},
		"an error":                 {append(bytes.Clone(begun), standin.Frame("error", "internalServerException", []byte("no"))...), llm.ServerError},
		"an error of Anthropic's":  {append(bytes.Clone(begun), framed(`data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)...), llm.Overloaded},
		"a wrong length":           {flipped(begun, 3), llm.Connection},
		"a wrong byte":             {flipped(begun, 30), llm.Connection},
		"no Base64":                {append(bytes.Clone(begun), standin.Frame("event", "chunk", []byte(`{"bytes":"%"}`))...), llm.Connection},
		"no JSON":                  {append(bytes.Clone(begun), standin.Frame("event", "chunk", []byte(`x`))...), llm.Connection},
		"no event in it":           {append(bytes.Clone(begun), framed("data: {x}")...), llm.BadReply},
		"a frame of 4 GiB":         {append(bytes.Clone(begun), announcing(1<<32-1, 0)...), llm.TooLarge},
		"headers of 4 GiB":         {append(bytes.Clone(begun), announcing(100, 1<<32-1)...), llm.Connection},
		"headers beyond the frame": {append(bytes.Clone(begun), announcing(100, 90)...), llm.Connection},
		"an empty frame":           {append(bytes.Clone(begun), announcing(0, 0)...), llm.Connection},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
				_, _ = w.Write(test.body)
			}), onBedrock)
			reply, err := client.Complete(t.Context(), ask())
			if test.want == "" {
				require.NoError(t, err)
				require.Equal(t, "Hello", reply.Message.Content)
				return
			}
			told, ok := errors.AsType[*llm.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, test.want, told.Class, "%v", err)
			require.NotContains(t, err.Error(), "sk-very-secret")
		})
	}
}

// An exception may quote the key.
func TestExceptionHidesTheKey(t *testing.T) {
	t.Parallel()
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		_, _ = w.Write(standin.Frame("exception", "validationException", []byte(`{"message":"the token sk-very-secret is not valid"}`)))
	}), onBedrock)
	_, err := client.Complete(t.Context(), ask())
	require.ErrorContains(t, err, "the token ")
	require.NotContains(t, err.Error(), "sk-very-secret")
}

// A proxy for Bedrock may send server-sent events.
func TestProxyForBedrockMayStreamOtherwise(t *testing.T) {
	t.Parallel()
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", isEvent)
		_, _ = w.Write([]byte(starts + hello + ends + stops))
	}), onBedrock)
	reply, err := client.Complete(t.Context(), ask())
	require.NoError(t, err)
	require.Equal(t, "Hello", reply.Message.Content)
}
