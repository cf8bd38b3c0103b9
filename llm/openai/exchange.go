package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/internal/endpoint"
)

// exchange sends one chat completions request and reads the response.
type exchange struct {
	client *Client
	key    string // the value of the Idempotency-Key header; may be empty
	form   form
	tools  []llm.ToolSpec // the tools that the request offers
	// renew is called for each part of a streamed reply: see [endpoint.WithTimeout].
	renew func()
	// tell is called with each delta of a streamed reply.
	tell func(llm.Delta)
}

// send sends a request with the given body and returns the completion, streamed or not. If the response is not a completion, the error is
// an [*llm.Error] or an [*endpoint.UnreadCall]. If the connection fails, the error is an [endpoint.LostError].
func (x *exchange) send(ctx context.Context, body []byte) (reply completion, err error) {
	r, err := x.client.post(ctx, "/chat/completions", body)
	if err != nil {
		return completion{}, err
	}
	x.client.Sender.Prepare(r, x.key, !x.form.has(noStream))
	err = x.client.Sender.Send(r, func(a endpoint.Response, body *bufio.Reader, quiet *endpoint.Silence) (err error) {
		if a.Status < http.StatusMultipleChoices && endpoint.IsStream(a.Header, body) {
			reply, err = x.readStream(a, body, quiet)
		} else {
			reply, err = readWhole(a, body, ctx.Err)
		}
		return err
	})
	return reply, err
}

// post returns a request with the given body. `path` is added to the base URL.
func (c *Client) post(ctx context.Context, path string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+c.APIKey)
	}
	return r, nil
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
