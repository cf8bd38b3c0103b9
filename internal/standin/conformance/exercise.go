// Package conformance has the tests that every client of an API of package standin passes.
package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// connector returns a client for the given HTTP handler; see [Exercise].
type connector = func(t testing.TB, server http.Handler) llm.Client

// Exercise runs the tests that every client of an endpoint with the given API should pass. It runs [llmtest.Exercise], first with
// evenly cut streams and then with streams that are cut at random places. It also tests the HTTP requests and responses.
//
// Exercise calls `newClient` in every test. The function must start an HTTP server with the handler `server`, and return a
// client for this server. The base URL of the client is the server's URL + "/v1". The function must stop the server with
// t.Cleanup. If the client can work with and without streaming, call Exercise once for each way.
func Exercise(t *testing.T, api standin.API, newClient func(t testing.TB, server http.Handler) llm.Client) {
	t.Helper()
	connect := func(seed uint64) func(testing.TB, llm.Client) llm.Client {
		return func(t testing.TB, far llm.Client) llm.Client {
			return newClient(t, &standin.Endpoint{Client: far, Seed: seed})
		}
	}
	lossy := &llmtest.Lossy{Sent: api.Sent, Received: api.Received}
	llmtest.Exercise(t, connect(0), lossy)
	for _, seed := range []uint64{1, 2, 3} {
		t.Run(fmt.Sprintf("Seed%d", seed), func(t *testing.T) { llmtest.Exercise(t, connect(seed), lossy) })
	}
	if api == standin.Chat {
		t.Run("EmptyFieldsAreThere", func(t *testing.T) { emptyFieldsAreThere(t, newClient) })
	}
	t.Run("TheKeyIsAHeader", func(t *testing.T) { keyIsAHeader(t, newClient) })
	t.Run("ReasoningIsNotSentBack", func(t *testing.T) { reasoningIsNotSent(t, newClient) })
	t.Run("AnswersThatAreNoCompletion", func(t *testing.T) { noCompletion(t, newClient) })
	t.Run("ACutConnectionIsNotAskedAgain", func(t *testing.T) { cutConnection(t, newClient) })
	t.Run("PiecesMakeTheReply", func(t *testing.T) { piecesMakeTheReply(t, api, newClient) })
	t.Run("ACutStreamIsNoReply", func(t *testing.T) { cutStream(t, api, newClient) })
	t.Run("FaultsPass", func(t *testing.T) { faultsPass(t, api, newClient) })
	t.Run("TokensAreBounded", func(t *testing.T) { tokensAreBounded(t, api, newClient) })
	t.Run("DeepRequestIsWholeOrRefused", func(t *testing.T) { deepRequest(t, newClient) })
}

// question returns a request with the given messages. If no messages are given, the request has one user message.
func question(messages ...llm.Message) llm.Request {
	if len(messages) == 0 {
		messages = []llm.Message{{Role: llm.User, Content: "How is the weather?"}}
	}
	return llm.Request{Candidates: []llm.Candidate{{Name: "fast", Model: "test-model"}}, Messages: messages}
}

// plain returns a copy of a message without opaque data. Only a client and its endpoint know what the data must be.
func plain(m llm.Message) llm.Message {
	m.Opaque = llm.Opaque{}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		m.ToolCalls[i].Opaque = llm.Opaque{}
	}
	return m
}
