package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
)

// Lossy says what an API cannot carry. For example, it may have no field for the parameter `seed`. A nil function means that
// nothing is lost. The functions must not modify their arguments.
type Lossy struct {
	// Sent returns what the far side receives of a request.
	Sent func(llm.Request) llm.Request
	// Received returns what a client receives of a reply.
	Received func(llm.Reply) llm.Reply
}

// connector is the function that [Exercise] calls in every test.
type connector = func(t testing.TB, far llm.Client) llm.Client

// Exercise runs the tests that every [llm.Client] should pass. Each test passes a scripted client, `far`, to the function
// `connect`. The function must return the client under test, which must get its replies from `far`. For example, the function
// can return a client that wraps `far`, or a client of an HTTP server with [Handler] of `far`. A nil `lossy` means that requests
// and replies arrive whole.
func Exercise(t *testing.T, connect func(t testing.TB, far llm.Client) llm.Client, lossy *Lossy) {
	t.Helper()
	sent, received := whole[llm.Request], whole[llm.Reply]
	if lossy != nil && lossy.Sent != nil {
		sent = lossy.Sent
	}
	if lossy != nil && lossy.Received != nil {
		received = lossy.Received
	}
	t.Run("RepliesArriveAsTheyWereGiven", func(t *testing.T) { repliesArrive(t, connect, received) })
	t.Run("RequestsArriveAsTheyWereMade", func(t *testing.T) { requestsArrive(t, connect, sent) })
	t.Run("AnEmptyReplyIsAnError", func(t *testing.T) { emptyReplies(t, connect, received) })
	t.Run("ErrorsKeepTheirClass", func(t *testing.T) { errorsKeepTheirClass(t, connect) })
	t.Run("RetryAfterArrives", func(t *testing.T) { retryAfterArrives(t, connect) })
	t.Run("ACancelledContextIsTheCallersDoing", func(t *testing.T) { cancelled(t, connect) })
	t.Run("ARequestIsLeftAlone", func(t *testing.T) { requestIsLeftAlone(t, connect) })
}

func whole[T any](v T) T { return v }

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

// repliesArrive checks that a client returns replies unchanged, except for what `received` changes: see [Lossy].
func repliesArrive(t *testing.T, connect connector, received func(llm.Reply) llm.Reply) {
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
			require.Equal(t, withoutOpaque(received(given)), withoutOpaque(got))
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

// requestsArrive checks that a client sends requests unchanged, except for what `sent` changes: see [Lossy].
func requestsArrive(t *testing.T, connect connector, sent func(llm.Request) llm.Request) {
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
	require.Equal(t, sent(asked), got[0])
}

// emptyReplies checks that a client returns an error of class [llm.EmptyReply] for an empty reply. The error must have the
// finish reason and the usage of the reply.
func emptyReplies(t *testing.T, connect connector, received func(llm.Reply) llm.Reply) {
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
			want := received(given)
			require.Equal(t, want.FinishReason, told.FinishReason)
			require.Equal(t, want.Usage, told.Usage)
		})
	}
}

// errorsKeepTheirClass checks that a client returns errors with the right class and does not retry.
func errorsKeepTheirClass(t *testing.T, connect connector) {
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
func retryAfterArrives(t *testing.T, connect connector) {
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
func cancelled(t *testing.T, connect connector) {
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

func requestIsLeftAlone(t *testing.T, connect connector) {
	client := connect(t, Script(Say("unused"), Say("Done.")))
	asked := question(
		llm.Message{Role: llm.User, Content: "go"},
		llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{ToolCall("1", "list_files", "{}")}, Reasoning: "hm"},
		llm.Message{Role: llm.Tool, ToolCallID: "1"},
	)
	before := standin.Copy(asked)

	_, err := client.Complete(t.Context(), asked)
	require.NoError(t, err)
	require.Equal(t, before, asked)
}
