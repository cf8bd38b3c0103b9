package llmtest

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

// Endpoint serves an [llm.Client] over HTTP in OpenAI's chat-completions
// format, plain and streamed. It answers POST on a path that ends in
// /chat/completions and GET on one that ends in /models, so it can be mounted
// anywhere.
//
// A request that OpenAI would refuse is refused with 400 before the client sees
// it. An [*llm.Error] of the client becomes the response that tells it: its
// status, or the one usual for its class, OpenAI's error body, and Retry-After.
// [llm.Connection] cuts the connection, [llm.BadReply] is plain text with status
// 200, [llm.EmptyReply] is a completion without text; any other error is a 500.
//
// It reads and writes JSON with types of its own, so that an error in a client
// library does not cancel out.
type Endpoint struct {
	// Client answers. It sees the Idempotency-Key as the request's Key, and the
	// one candidate by the provider's name.
	Client llm.Client
	// Lenient lets requests pass that OpenAI would refuse, as long as they can be
	// read. Set it before the first request.
	Lenient bool
	// Seed has streams cut in random places, the same for the same seed and body:
	// texts between any two characters, the pieces of different calls mixed, the
	// bytes of the wire anywhere. 0 cuts them evenly. Set it before the first request.
	Seed uint64
	// Faults are answers that go wrong; nil means none. Set it before the first
	// request.
	Faults *Faults
	// Pace is called before each event of a stream, counted from 0, is sent, and holds it as long as it likes.
	// One that panics with [http.ErrAbortHandler] cuts the stream. Set it before the first request; streams of a
	// Seed are not paced.
	Pace func(req llm.Request, event int)

	mu       sync.Mutex
	requests []Recorded
}

// Recorded is one request as it arrived at an [Endpoint].
type Recorded struct {
	Time   time.Time
	Header http.Header
	// Key is the Idempotency-Key header.
	Key  string
	Body []byte
	// Request is what the body says, as far as it could be read.
	Request llm.Request
	// Stream reports whether the request asked for a stream.
	Stream bool
}

// Handler returns an [Endpoint] for c.
func Handler(c llm.Client) http.Handler { return &Endpoint{Client: c} }

// Server is an [Endpoint] that listens on a port of its own.
type Server struct {
	*Endpoint
	// URL is the base URL that clients are given; it ends in /v1.
	URL  string
	http *httptest.Server
}

// Serve starts a server for c on the loopback interface. The caller closes it.
func Serve(c llm.Client) *Server { return (&Endpoint{Client: c}).Serve() }

// Serve starts a server for e on the loopback interface. The caller closes it.
func (e *Endpoint) Serve() *Server {
	listening := httptest.NewServer(e)
	return &Server{Endpoint: e, URL: listening.URL + "/v1", http: listening}
}

// Close stops the server. It cuts requests that are still being answered.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests returns the chat requests so far, in the order of arrival, refused
// ones among them. They must not be modified.
func (e *Endpoint) Requests() []Recorded {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// ServeHTTP answers one request.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions") && r.Method == http.MethodPost:
		e.complete(w, r)
	case strings.HasSuffix(r.URL.Path, "/models") && r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, modelList{Object: "list", Data: []modelInfo{{ID: "test-model", Object: "model", OwnedBy: "llmtest"}}})
	default:
		refuse(w, &refusal{status: http.StatusNotFound, message: fmt.Sprintf("Unknown request URL: %s %s", r.Method, r.URL.Path)})
	}
}

func (e *Endpoint) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, invalid("", "the request was cut short: %v", err))
		return
	}
	wire, refused := readRequest(body)
	if refused == nil && !e.Lenient {
		refused = wire.check()
	}
	req := wire.request()
	req.Key = r.Header.Get("Idempotency-Key")
	e.record(Recorded{
		Time:    time.Now(),
		Header:  r.Header.Clone(),
		Key:     req.Key,
		Body:    body,
		Request: clone(req),
		Stream:  wire.Stream,
	})
	if refused != nil {
		refuse(w, refused)
		return
	}

	reply, err := e.Client.Complete(r.Context(), req)
	if err != nil {
		var told bool
		if reply, told = emptyReply(err); !told {
			fail(w, err)
			return
		}
	}
	answer := goodAnswer{whole: completionOf(wire.Model, reply), stream: wire.Stream, usage: wire.StreamOptions.IncludeUsage}
	if e.Pace != nil {
		answer.pace = func(event int) { e.Pace(req, event) }
	}
	if e.Seed != 0 {
		answer.random = rand.New(rand.NewPCG(e.Seed, digest(string(body)))) //nolint:gosec // to be the same each time
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

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // the client may have gone
}
