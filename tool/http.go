package tool

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/reagent-dev/reagent/internal/traceparent"
)

// KeyHeader is the HTTP header that has the key of a call.
const KeyHeader = "Idempotency-Key"

// maxStatusText is how many bytes of a response an [*HTTPError] keeps.
const maxStatusText = 1000

// Do sends the HTTP request of a tool, with the key of the call in the header [KeyHeader], unless the request has the header already or its
// context has no [Info]. If the context has a span, the header traceparent tells the server of it. The caller closes the body of the response. If the status is not 2xx, Do closes it and returns an [*HTTPError].
//
// A request with a body is sent once. Without Do, package net/http repeats even a POST with this header, if the connection is lost: then the
// server must know the key, whatever effect the tool has. `client` may be nil.
func Do(client *http.Client, r *http.Request) (*http.Response, error) {
	if client == nil {
		client = http.DefaultClient
	}
	r = r.Clone(r.Context())
	if key := InfoFrom(r.Context()).Key; key != "" && r.Header.Get(KeyHeader) == "" {
		r.Header.Set(KeyHeader, key)
	}
	if parent := traceparent.In(r.Context()); parent != "" && r.Header.Get(traceparent.Name) == "" {
		r.Header.Set(traceparent.Name, parent)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		r.GetBody = nil // net/http repeats only what it can read again
		if r.Body == nil || r.Body == http.NoBody {
			r.Body = io.NopCloser(strings.NewReader(""))
		}
	}
	response, err := client.Do(r) //nolint:gosec // the tool has chosen the URL
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxStatusText)) // the status is enough if the text cannot be read
	return nil, &HTTPError{Method: r.Method, Status: response.StatusCode, Text: strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD"))}
}

// HTTPError is the error of [Do] for a response whose status is not 2xx. As the error of a tool, it becomes a result that the model reads.
type HTTPError struct {
	// Method is the method of the request.
	Method string
	// Status is the status code of the response.
	Status int
	// Text is the beginning of the response, at most 1,000 bytes.
	Text string
}

// Error names the status, and has the text of the response.
func (e *HTTPError) Error() string {
	text := fmt.Sprintf("the service answered the %s with HTTP %d %s", e.Method, e.Status, http.StatusText(e.Status))
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}
