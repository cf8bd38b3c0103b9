package reagenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reagent-dev/reagent/internal/canon"
	"github.com/reagent-dev/reagent/internal/redact"
)

// record is the flag -record.
var record = boolFlag("record", "let the endpoints of reagenttest ask the real models, and write what they say to files")

// maxBodyBytes is the largest body of a request or a response that is recorded.
const maxBodyBytes = 64 << 20

// maxExchange is the longest time of an exchange that is recorded.
const maxExchange = 10 * time.Minute

// Endpoint is a model endpoint whose exchanges are in a file: see [Recorded]. It is safe for concurrent use.
type Endpoint struct {
	// URL is the base URL for [reagent.Model].BaseURL.
	URL string

	t    testing.TB
	file string
	far  *url.URL // nil if the exchanges are replayed

	forwarding sync.WaitGroup // requests that are being recorded

	mu        sync.Mutex
	exchanges []exchange
	asked     []string       // the requests that were replayed
	replayed  map[string]int // by the identity of the request
}

// Recorded returns an endpoint for a test without a network: it answers each request as a real endpoint answered the same request. What
// the real one said is in a file, which `go test -record` writes. With -record, the endpoint sends its requests on to `baseURL`, which is
// what [reagent.Model].BaseURL would be without the endpoint.
//
// A request is the same if it has the same method, path and body; the order of JSON fields and the field prompt_cache_key do not count. If
// the same request was answered several times, the answers come in their order, and then the last one again. A request that is not in the
// file fails the test.
//
// The file has no headers of requests, no queries of URLs, and of the headers of responses only Content-Type and Retry-After. If a body
// contains a value that a header or the query of its request had, such as the API key, the file has "[hidden]" in its place, unless
// an event stream has cut the value into pieces. The file has the conversation, too, so read it before you commit it.
func Recorded(t testing.TB, file, baseURL string) *Endpoint {
	t.Helper()
	e := &Endpoint{t: t, file: file, replayed: map[string]int{}}
	if err := e.open(baseURL); err != nil {
		t.Fatalf("reagenttest: %v", err)
	}
	listening := httptest.NewServer(e)
	e.URL = listening.URL
	t.Cleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
		e.forwarding.Wait()
		if e.far != nil && !t.Failed() {
			if err := e.write(); err != nil {
				t.Errorf("reagenttest: write the recorded exchanges: %v", err)
			}
		}
	})
	return e
}

func (e *Endpoint) open(baseURL string) error {
	if record() {
		far, err := url.Parse(baseURL)
		if err != nil || far.Scheme != "http" && far.Scheme != "https" || far.Host == "" {
			return fmt.Errorf("the base URL %q of the endpoint %s must begin with http:// or https://", baseURL, e.file)
		}
		e.far = far
		return nil
	}
	text, err := os.ReadFile(e.file)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no file %s with exchanges of an endpoint: run the test with -record and the API key of the endpoint", e.file)
	}
	if err != nil {
		return err
	}
	var stored recording
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&stored); err != nil {
		return fmt.Errorf("%s has no exchanges of an endpoint: %w; record it again with -record", e.file, err)
	}
	e.exchanges = stored.Exchanges
	return nil
}

// Requests returns the bodies of the requests that the endpoint has got and answered in this test, in their order.
func (e *Endpoint) Requests() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// ServeHTTP implements [http.Handler].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil || len(body) > maxBodyBytes {
		http.Error(w, "the request is too large to be recorded", http.StatusRequestEntityTooLarge)
		return
	}
	e.mu.Lock()
	e.asked = append(e.asked, string(body))
	e.mu.Unlock()
	if e.far != nil {
		e.forwarding.Add(1)
		defer e.forwarding.Done()
		e.forward(w, r, body)
		return
	}
	e.replay(w, r, body)
}

func (e *Endpoint) replay(w http.ResponseWriter, r *http.Request, asked []byte) {
	id := identity(r.Method, r.URL.Path, asked)
	e.mu.Lock()
	var same []exchange
	for _, x := range e.exchanges {
		if identity(x.Method, x.Path, []byte(x.Request.text())) == id {
			same = append(same, x)
		}
	}
	n := e.replayed[id]
	e.replayed[id]++
	e.mu.Unlock()
	if len(same) == 0 {
		problem := fmt.Sprintf("%s has no answer to this request; if the request is right, record the file again with -record: %s %s %s", e.file, r.Method, r.URL.Path, asked)
		e.t.Errorf("reagenttest: %s", problem)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": problem, "type": "invalid_request_error"}})
		return
	}
	x := same[min(n, len(same)-1)]
	for name, value := range x.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(x.Status)
	_, _ = io.WriteString(w, x.Response.text())
}

// forward sends a request on to the real endpoint, and records the exchange.
func (e *Endpoint) forward(w http.ResponseWriter, r *http.Request, asked []byte) {
	far := e.far.JoinPath(r.URL.Path)
	query := far.Query()
	maps.Copy(query, r.URL.Query())
	far.RawQuery = query.Encode()
	// A client may close the connection when it has seen the end of an event stream. The rest is recorded nevertheless.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), maxExchange)
	defer cancel()
	out, err := http.NewRequestWithContext(ctx, r.Method, far.String(), bytes.NewReader(asked)) //nolint:gosec // the test has named the host
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Accept-Encoding") // so that the transport decodes what comes
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		http.Error(w, "the real endpoint does not answer", http.StatusBadGateway)
		e.t.Errorf("reagenttest: %s: the real endpoint does not answer: %v", e.file, err)
		return
	}
	defer resp.Body.Close()
	kept := map[string]string{}
	for _, name := range []string{"Content-Type", "Retry-After", "Retry-After-Ms"} {
		if value := resp.Header.Get(name); value != "" {
			kept[name] = value
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(resp.StatusCode)
	var answer bytes.Buffer
	if _, err := io.Copy(&flushing{to: w}, io.TeeReader(io.LimitReader(resp.Body, maxBodyBytes), &answer)); err != nil {
		return // the endpoint has cut the exchange, so nobody can replay it
	}
	hide := redact.New(secretsOf(r)...)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.exchanges = append(e.exchanges, exchange{
		Method: r.Method, Path: r.URL.Path, Request: newBody(hide.Text(string(asked))),
		Status: resp.StatusCode, Headers: kept, Response: newBody(hide.Text(answer.String())),
	})
}

func (e *Endpoint) write() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(recording{e.exchanges}); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(e.file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(e.file, out.Bytes(), 0o600)
}

// secretsOf returns the values of the headers and the query of a request that may be secret, and of those with several words each word.
func secretsOf(r *http.Request) []string {
	var found []string
	for _, of := range []map[string][]string{r.Header, r.URL.Query()} {
		for name, values := range of {
			if redact.IsSetting(name) {
				continue
			}
			for _, value := range values {
				found = append(append(found, value), strings.Fields(value)...)
			}
		}
	}
	return redact.OnlyRandom(found)
}

// flushing sends each part of a response at once. When the client has gone, it takes the rest and sends nothing.
type flushing struct {
	to   http.ResponseWriter
	gone bool
}

func (f *flushing) Write(p []byte) (int, error) {
	if f.gone {
		return len(p), nil
	}
	_, err := f.to.Write(p)
	f.gone = err != nil
	if flusher, ok := f.to.(http.Flusher); ok && !f.gone {
		flusher.Flush()
	}
	return len(p), nil
}

// identity returns a text that is the same for requests that are the same.
func identity(method, path string, body []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil {
		delete(fields, "prompt_cache_key")
		if whole, err := canon.Value(fields); err == nil {
			body = whole
		}
	}
	return method + " " + path + "\n" + string(body)
}
