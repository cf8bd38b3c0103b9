// Package standin has an HTTP [Endpoint] with the APIs of OpenAI and Anthropic, for tests without a real provider. It enforces
// the rules that the providers document. A [Provider] makes it behave like one provider of the chat completions API, and
// [Faults], [PrefixCache] and [PromptCache] add what happens at real endpoints. An [llm.Client], such as a scripted model of
// package llmtest, makes the replies.
//
// Use the package only for tests, demonstrations and benchmarks.
package standin

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reagent-dev/reagent/llm"
)

// Endpoint is an HTTP handler for the APIs [Chat], [Responses] and [Messages], for tests without a real model. The client in the
// field [Endpoint.Client], such as a scripted model, makes the replies. If a request asks for a stream, Endpoint sends the reply as
// a stream. It handles POST on paths that end in /chat/completions, /responses or /messages, and GET on paths that end in /models.
// So the base URL may have any path. The APIs [Vertex] and [Bedrock] have paths of their own. Endpoint is safe for concurrent use.
//
// If the provider of the API would refuse a request, Endpoint sends the provider's error response and does not call
// [Endpoint.Client]. If that client returns an [*llm.Error], the class of the error determines the response:
//   - For [llm.Connection], Endpoint cuts the connection.
//   - For [llm.BadReply], it sends plain text with status 200.
//   - For [llm.EmptyReply], it sends a reply without text.
//   - For any other class, it sends an error in the format of the API. The status is the status in the error or, if that is 0,
//     the usual status of the class. If the error has a wait time, the response has a Retry-After header.
//
// If the client returns an error of another type, the response has status 500.
type Endpoint struct {
	// Client makes the replies. Each request that Client gets has one candidate. Both names of the candidate are the model's
	// name in the HTTP request. The key of the request is the Idempotency-Key header.
	Client llm.Client
	// Lenient makes the Endpoint accept requests that the provider would refuse. A request that cannot be decoded is still refused.
	// Set Lenient before the first request.
	Lenient bool
	// Seed makes the Endpoint cut streams at random places. If Seed is 0, streams are cut evenly. The places depend only on
	// Seed and the body of the request. Texts are cut between any two characters, the parts of different calls are mixed, and
	// the bytes of the stream are sent in random portions. Set Seed before the first request.
	Seed uint64
	// Provider makes the Endpoint behave like a certain provider of the API [Chat]; nil means that it behaves like OpenAI, but with
	// fewer checks than the Provider [OpenAI]. Some providers have the API [Messages], too: see [Provider]. Other APIs ignore it. Set
	// Provider before the first request.
	Provider *Provider
	// PrefixCache sets the usage of the replies of the APIs [Chat] and [Responses]; nil means that the usage of the reply stays as it
	// is. Set PrefixCache before the first request.
	PrefixCache *PrefixCache
	// PromptCache sets the usage of the replies of the API [Messages]; nil means that the usage of the reply stays as it is. Set
	// PromptCache before the first request.
	PromptCache *PromptCache
	// Faults makes some responses faulty; nil means that no response is faulty. Set Faults before the first request.
	Faults *Faults
	// Pace is called before the Endpoint sends an event of a stream. The Endpoint waits until Pace returns. `event` is the number of
	// the event in its stream, from 0. `req` is the request to which the stream belongs. If Pace panics with [http.ErrAbortHandler],
	// the Endpoint cuts the stream. Pace may be nil. It is not called if [Endpoint.Seed] is not 0. Set Pace before the first
	// request.
	Pace func(req llm.Request, event int)

	mu       sync.Mutex
	requests []Recorded
}

// Recorded is one request for a reply that an [Endpoint] received.
type Recorded struct {
	// Time is when the Endpoint had received the whole body.
	Time   time.Time
	Header http.Header
	// Key is the value of the Idempotency-Key header.
	Key  string
	Body []byte
	// Request is the request in the body. It is incomplete if the body could not be decoded completely.
	Request llm.Request
	// Stream says whether the request asked for a stream.
	Stream bool
}

// Server is an [Endpoint] with an HTTP server.
type Server struct {
	*Endpoint
	// URL is the base URL for clients. It ends in /v1.
	URL  string
	http *httptest.Server
}

// Serve starts a server for the Endpoint on the loopback interface. The caller must call [Server.Close].
func (e *Endpoint) Serve() *Server {
	listening := httptest.NewServer(e)
	return &Server{Endpoint: e, URL: listening.URL + "/v1", http: listening}
}

// Close stops the server. It cuts all connections, even if a response is not complete.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests returns the requests for replies so far, in the order of arrival. Refused requests are included. The caller must not
// modify the elements.
func (e *Endpoint) Requests() []Recorded {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// ServeHTTP implements [http.Handler].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := e.Provider.api(apiAt(r.URL), r.URL)
	switch {
	case a != nil && r.Method == http.MethodPost:
		e.complete(w, r, a)
	case strings.HasSuffix(r.URL.Path, "/models") && r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, modelList{Object: "list", Data: []modelInfo{{ID: "test-model", Object: "model", OwnedBy: "standin"}}})
	default:
		refuse(w, chat{}, &refusal{status: http.StatusNotFound, message: fmt.Sprintf("Unknown request URL: %s %s", r.Method, r.URL.Path)})
	}
}

func (e *Endpoint) complete(w http.ResponseWriter, r *http.Request, a API) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, a, invalid("", "the request was cut short: %v", err))
		return
	}
	wire, refused := a.read(body, e.Lenient)
	if h, ok := a.(headerChecker); ok && refused == nil && !e.Lenient {
		refused = h.checkHeader(r.Header)
	}
	req := wire.request
	req.Key = r.Header.Get("Idempotency-Key")
	e.record(Recorded{
		Time:    time.Now(),
		Header:  r.Header.Clone(),
		Key:     req.Key,
		Body:    body,
		Request: Copy(req),
		Stream:  wire.stream,
	})
	if refused != nil {
		refuse(w, a, refused)
		return
	}

	reply, err := e.Client.Complete(r.Context(), req)
	if err != nil {
		var told bool
		if reply, told = emptyReply(err); !told {
			fail(w, a, err)
			return
		}
	}
	if d, ok := a.(dresser); ok {
		reply = d.dress(body, reply)
	}
	switch a.(type) {
	case messages, vertex, bedrock:
		reply.Usage = e.PromptCache.count(body, reply.Usage)
	default:
		reply.Usage = e.PrefixCache.count(body, reply.Usage)
	}
	answer := goodAnswer{api: a, model: wire.model, reply: reply, stream: wire.stream, usage: wire.usage}
	if e.Pace != nil {
		answer.pace = func(event int) { e.Pace(req, event) }
	}
	if e.Seed != 0 {
		answer.random = rand.New(rand.NewPCG(e.Seed, digest(string(body)))) //nolint:gosec // must be reproducible
	}
	if !e.Faults.inject(w, req.Key, body, answer) {
		answer.write(w)
	}
}

func (e *Endpoint) record(r Recorded) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, r)
}

// writeJSON sends a response with a JSON body, without HTML escaping.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // the client may have closed the connection
}
