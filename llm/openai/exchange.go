package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// exchange sends one request and reads the response. The library go-openai uses the exchange as its HTTP client. The exchange
// rewrites each request, because go-openai cannot write all the fields that requests need. It rewrites each response, because
// go-openai cannot decode the responses of all endpoints.
type exchange struct {
	client *Client
	key    string                     // the value of the Idempotency-Key header; may be empty
	fields map[string]json.RawMessage // fields of the body that go-openai does not write
	form   form
	tools  []llm.ToolSpec // the tools that the request offers
	// messages are the messages of the request, one for each message that go-openai writes.
	messages []llm.Message
	writer   writer
	// reply is the reply that was read. It has what go-openai does not decode.
	reply completion
	// renew is called for each part of a streamed reply: see [endpoint.WithTimeout].
	renew func()
	// tell is called with each delta of a streamed reply.
	tell func(llm.Delta)
}

// Do rewrites the body of a request of go-openai and sends the request. If the response is a completion, Do returns the completion in
// the form that go-openai can decode. Do converts a stream into one complete response. Any other response becomes an [*llm.Error] or
// an [*endpoint.UnreadCall]. An error of the connection becomes an [endpoint.LostError].
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	if err := x.prepare(r); err != nil {
		return nil, err
	}
	var reply completion
	err := x.client.Sender.Send(r, func(a endpoint.Response, body *bufio.Reader, quiet *endpoint.Silence) (err error) {
		if a.Status < http.StatusMultipleChoices && endpoint.IsStream(a.Header, body) {
			reply, err = x.readStream(a, body, quiet)
		} else {
			reply, err = readWhole(a, body, r.Context().Err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	x.reply = reply
	rewritten, err := reply.rewrite()
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(rewritten)),
	}, nil
}

// readWhole reads a response that is not streamed. `ended` must return an error if the context of the request has ended, and
// nil otherwise.
func readWhole(a endpoint.Response, body io.Reader, ended func() error) (completion, error) {
	a, err := endpoint.ReadBody(a, body, ended)
	if err != nil {
		return completion{}, err
	}
	var reply completion
	if err := json.Unmarshal(a.Body, &reply); err != nil {
		return completion{}, a.Bad(endpoint.Chat, err)
	}
	if len(reply.Choices) == 0 {
		return reply, a.Foreign(endpoint.Chat)
	}
	return reply, nil
}

// offers reports whether the request offers a tool whose name begins with `name` (result `begins`), and whether it offers a tool whose
// whole name is `name` (result `is`).
func (x *exchange) offers(name string) (begins, is bool) {
	for _, t := range x.tools {
		begins, is = begins || strings.HasPrefix(t.Name, name), is || t.Name == name
	}
	return begins, is
}

// prepare rewrites the body of a request that go-openai has built, and sets the headers.
func (x *exchange) prepare(r *http.Request) error {
	encoded, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	rewritten, err := x.writer.rewrite(encoded, x.form.fields(x.fields), x.messages)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(rewritten))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(rewritten)), nil }
	r.ContentLength = int64(len(rewritten))
	x.client.Sender.Prepare(r, x.key, !x.form.has(noStream))
	return nil
}
