package llmtest

import (
	"net/http"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
)

// Handler returns an HTTP handler for OpenAI's chat completions and Responses APIs and Anthropic's Messages API. The replies come
// from `c`, such as a scripted [Model], which gets the Idempotency-Key header as the key of the request. The handler streams a
// reply if the request asks for a stream, and refuses what the provider of the API would refuse. The class of an [*llm.Error]
// from `c` determines the response: for [llm.Connection] the connection is cut, for [llm.RateLimited] the status is 429, and so on.
//
// The handler serves POST on paths that end in /chat/completions, /responses or /messages, and GET on paths that end in /models.
// It is safe for concurrent use.
func Handler(c llm.Client) http.Handler { return &standin.Endpoint{Client: c} }

// Server is an HTTP server with a [Handler].
type Server struct {
	// URL is the base URL for clients. It ends in /v1.
	URL  string
	http *standin.Server
}

// Serve starts a server on the loopback interface, with the [Handler] of `c`. The caller must call [Server.Close].
func Serve(c llm.Client) *Server {
	listening := (&standin.Endpoint{Client: c}).Serve()
	return &Server{URL: listening.URL, http: listening}
}

// Close stops the server. It cuts all connections, even if a response is not complete.
func (s *Server) Close() { s.http.Close() }
