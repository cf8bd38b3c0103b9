package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// Exercise runs the tests that every client of an endpoint with the given API should pass. It runs the tests of
// [ExerciseAnswers], first with evenly cut streams and then with streams that are cut at random places. It also tests the HTTP
// requests and responses.
//
// Exercise calls `newClient` in every test. The function must start an HTTP server with the handler `server`, and return a
// client for this server. The base URL of the client is the server's URL + "/v1". The function must stop the server with
// t.Cleanup. If the client can work with and without streaming, call Exercise once for each way.
func Exercise(t *testing.T, api API, newClient func(t testing.TB, server http.Handler) llm.Client) {
	t.Helper()
	exerciseAnswers(t, api, func(t testing.TB, far llm.Client) llm.Client { return newClient(t, Handler(far)) })
	for _, seed := range []uint64{1, 2, 3} {
		t.Run(fmt.Sprintf("Seed%d", seed), func(t *testing.T) {
			exerciseAnswers(t, api, func(t testing.TB, far llm.Client) llm.Client {
				return newClient(t, &Endpoint{Client: far, Seed: seed})
			})
		})
	}
	exerciseWire(t, api, newClient)
}

// ExerciseAnswers runs the tests that every [llm.Client] should pass. Each test passes a scripted client, `far`, to the
// function `connect`. The function must return the client under test, which must get its replies from `far`. For example, the
// function can return:
//   - a client of an [Endpoint] whose replies come from `far`
//   - a client that wraps `far`
//   - `far` itself
func ExerciseAnswers(t *testing.T, connect func(t testing.TB, far llm.Client) llm.Client) {
	t.Helper()
	exerciseAnswers(t, Chat, connect)
}

// exerciseAnswers runs the tests of [ExerciseAnswers] for a client of the given API.
func exerciseAnswers(t *testing.T, api API, connect func(t testing.TB, far llm.Client) llm.Client) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, API, func(testing.TB, llm.Client) llm.Client)
	}{
		{"RepliesArriveAsTheyWereGiven", repliesArrive},
		{"RequestsArriveAsTheyWereMade", requestsArrive},
		{"AnEmptyReplyIsAnError", emptyReplies},
		{"ErrorsKeepTheirClass", errorsKeepTheirClass},
		{"RetryAfterArrives", retryAfterArrives},
		{"ACancelledContextIsTheCallersDoing", cancelled},
		{"ARequestIsLeftAlone", requestIsLeftAlone},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, api, connect) })
	}
}

// question returns a request with the given messages. If no messages are given, the request has one user message.
func question(messages ...llm.Message) llm.Request {
	if len(messages) == 0 {
		messages = []llm.Message{{Role: llm.User, Content: "How is the weather?"}}
	}
	return llm.Request{Candidates: []llm.Candidate{{Name: "fast", Model: "test-model"}}, Messages: messages}
}

// arguments has examples of the arguments of a tool call. A client must return and send them unchanged, byte for byte.
var arguments = []string{
	`{}`,
	`{ "city" : "Paris" }`,
	`{"city":"Zürich 🏔️","n":9007199254740993,"x":1.0,"y":1e400}`,
	`{"html":"<a href=\"x\">&amp;</a>","line":"a\nb","escaped":"\u00fc\u2028"}`,
	`{"city":"Paris","city":"Rome"}`,
}

// repliesArrive checks that a client returns replies unchanged.
func repliesArrive(t *testing.T, api API, connect func(testing.TB, llm.Client) llm.Client) {
	var calls []llm.ToolCall
	for _, text := range arguments {
		calls = append(calls, ToolCall("call_"+string(rune('a'+len(calls))), "get_weather", text))
	}
	textAndCall := Call(calls[0])
	textAndCall.Message.Content = "Let me look."
	counted := Say("Counted.")
	counted.Usage = llm.Usage{InputTokens: 120, OutputTokens: 30, CachedTokens: 100, ReasoningTokens: 20}
	cut := Say("The three steps are")
	cut.FinishReason = "length"
	thought := Say("42")
	thought.Message.Reasoning = "What is six times seven?"
	replies := map[string]llm.Reply{
		"text":               Say("Sunny."),
		"unicode":            Say("Zürich 🏔️ \u2028 <b>&amp;</b> \"quoted\" \\ \x00 日本語"),
		"white space inside": Say("\n two\n\n  lines \t"),
		"one call":           Call(calls[1]),
		"parallel calls":     Call(calls...),
		"equal calls":        Call(ToolCall("1", "list_files", "{}"), ToolCall("2", "list_files", "{}")),
		"arguments not JSON": Call(ToolCall("1", "get_weather", `{"city": "Par`)),
		"empty arguments":    Call(ToolCall("1", "list_files", "")),
		"text beside a call": textAndCall,
		"usage":              counted,
		"cut at the limit":   cut,
		"reasoning":          thought,
	}
	for name, given := range replies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, Script(given))

			got, err := client.Complete(t.Context(), question())
			require.NoError(t, err)

			given.Candidate, given.Model = "fast", "test-model"
			require.Equal(t, withoutOpaque(api.replies(given)), withoutOpaque(got))
		})
	}
}

// withoutOpaque returns a copy of a reply without opaque data. Only a client and its endpoint know what the data must be.
func withoutOpaque(reply llm.Reply) llm.Reply {
	reply.Message.Opaque = llm.Opaque{}
	reply.Message.ToolCalls = slices.Clone(reply.Message.ToolCalls)
	for i := range reply.Message.ToolCalls {
		reply.Message.ToolCalls[i].Opaque = llm.Opaque{}
	}
	return reply
}

// requestsArrive checks that a client sends requests unchanged.
func requestsArrive(t *testing.T, api API, connect func(testing.TB, llm.Client) llm.Client) {
	far := Script(Say("unused"), Say("unused"), Say("Done."))
	client := connect(t, far)

	var calls []llm.ToolCall
	results := []llm.Message{{Role: llm.Tool, ToolCallID: "call_a", Content: ""}}
	for i, text := range arguments {
		calls = append(calls, ToolCall("call_"+string(rune('a'+i)), "get_weather", text))
		if i > 0 {
			results = append(results, llm.Message{Role: llm.Tool, ToolCallID: calls[i].ID, Content: "17 °C <&> \n"})
		}
	}
	conversation := []llm.Message{
		{Role: llm.System, Content: "Be brief. <rules>&amp;</rules>"},
		{Role: llm.User, Content: "Zürich 🏔️\u2028?"},
		{Role: llm.Assistant, ToolCalls: calls},
	}
	conversation = append(conversation, results...)
	conversation = append(conversation,
		llm.Message{Role: llm.Assistant, Content: "And one more.", ToolCalls: calls[:1]},
		llm.Message{Role: llm.Tool, ToolCallID: calls[0].ID, Content: "ok"},
		llm.Message{Role: llm.User, Parts: []llm.Part{
			{Type: "text", Text: "What is this?"},
			{Type: "image", URL: "data:image/png;base64,AAAA"},
		}},
	)
	asked := question(conversation...)
	asked.Key = "model-0123456789abcdef"
	asked.Tools = []llm.ToolSpec{
		{Name: "get_weather", Description: "The <weather>.", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}`)},
		{Name: "list_files"},
	}
	zero, seed, parallel := 0.0, 0, false
	asked.Params = llm.Params{
		Temperature:       &zero,
		TopP:              &zero,
		MaxOutputTokens:   100,
		Seed:              &seed,
		ReasoningEffort:   "low",
		ParallelToolCalls: &parallel,
		ToolChoice:        "get_weather",
		OutputSchema:      json.RawMessage(`{"type":"object","minimum":1.0}`),
		Extra:             map[string]json.RawMessage{"min_p": json.RawMessage(`0.10`)},
	}

	_, err := client.Complete(t.Context(), asked)
	require.NoError(t, err)

	got := far.Requests()
	require.Len(t, got, 1)
	asked.Candidates, got[0].Candidates = nil, nil // the client sends only the Model of a candidate
	require.Equal(t, api.requests(asked), got[0])
}

// emptyReplies checks that a client returns an error of class [llm.EmptyReply] for an empty reply. The error must have the
// finish reason and the usage of the reply.
func emptyReplies(t *testing.T, api API, connect func(testing.TB, llm.Client) llm.Client) {
	for name, given := range map[string]llm.Reply{
		"no text":        {FinishReason: "stop", Usage: llm.Usage{OutputTokens: 3}},
		"blank text":     Say(" \n"),
		"only reasoning": {Message: llm.Message{Reasoning: "hm"}, FinishReason: "length"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, Script(given))

			_, err := client.Complete(t.Context(), question())
			require.ErrorIs(t, err, llm.ErrEmptyReply)

			var told *llm.Error
			require.ErrorAs(t, err, &told)
			want := api.replies(given)
			require.Equal(t, want.FinishReason, told.FinishReason)
			require.Equal(t, want.Usage, told.Usage)
		})
	}
}

// errorsKeepTheirClass checks that a client returns errors with the right class and does not retry.
func errorsKeepTheirClass(t *testing.T, _ API, connect func(testing.TB, llm.Client) llm.Client) {
	// TooLarge is missing: if a request is too large for an endpoint, a shorter request may succeed, so a client may return
	// ContextTooLong.
	for _, class := range []llm.Class{
		llm.RateLimited, llm.Overloaded, llm.ServerError, llm.Connection, llm.BadReply, llm.ContextTooLong,
		llm.InvalidRequest, llm.Unauthorized, llm.QuotaExceeded, llm.NotFound, llm.Filtered,
	} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			far := Func(func(context.Context, llm.Request) (llm.Reply, error) {
				return llm.Reply{}, &llm.Error{Class: class, Message: "out of order"}
			})
			client := connect(t, far)

			_, err := client.Complete(t.Context(), question())

			var told *llm.Error
			require.ErrorAs(t, err, &told)
			require.Equal(t, class, told.Class, "%v", err)
			if class != llm.Connection {
				require.ErrorContains(t, err, "out of order")
			}
			require.Len(t, far.Requests(), 1, "a client does not retry")
		})
	}
}

// retryAfterArrives checks that the error of a client has the wait time that the endpoint sent. An endpoint sends a wait time
// in the header Retry-After, and may also send it in milliseconds in the header Retry-After-Ms.
func retryAfterArrives(t *testing.T, _ API, connect func(testing.TB, llm.Client) llm.Client) {
	for _, wait := range []time.Duration{7 * time.Second, 350 * time.Millisecond} {
		client := connect(t, Func(func(context.Context, llm.Request) (llm.Reply, error) {
			return llm.Reply{}, &llm.Error{Class: llm.RateLimited, Message: "slow down", RetryAfter: wait}
		}))

		_, err := client.Complete(t.Context(), question())

		var told *llm.Error
		require.ErrorAs(t, err, &told)
		require.Equal(t, wait, told.RetryAfter)
	}
}

// cancelled checks which error a client returns if the caller cancels the context. The error must wrap the error of the
// context, and must not be an [*llm.Error].
func cancelled(t *testing.T, _ API, connect func(testing.TB, llm.Client) llm.Client) {
	asked := make(chan struct{})
	client := connect(t, Func(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		close(asked)
		<-ctx.Done()
		return llm.Reply{}, ctx.Err()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()

	_, err := client.Complete(ctx, question())

	require.ErrorIs(t, err, context.Canceled)
	var told *llm.Error
	require.False(t, errors.As(err, &told), "the model did nothing wrong: %v", err)
}

// requestIsLeftAlone checks that a client does not modify the request.
func requestIsLeftAlone(t *testing.T, _ API, connect func(testing.TB, llm.Client) llm.Client) {
	client := connect(t, Script(Say("unused"), Say("Done.")))
	asked := question(
		llm.Message{Role: llm.User, Content: "go"},
		llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{ToolCall("1", "list_files", "{}")}, Reasoning: "hm"},
		llm.Message{Role: llm.Tool, ToolCallID: "1"},
	)
	before := clone(asked)

	_, err := client.Complete(t.Context(), asked)
	require.NoError(t, err)
	require.Equal(t, before, asked)
}
