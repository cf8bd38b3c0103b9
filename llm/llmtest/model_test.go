package llmtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

func TestModel(t *testing.T) {
	t.Parallel()
	llmtest.Exercise(t, func(t testing.TB, far llm.Client) llm.Client { return llmtest.Func(far.Complete) }, nil)
}

func question(messages ...llm.Message) llm.Request {
	return llm.Request{
		Candidates: []llm.Candidate{{Name: "fast", Model: "test-model"}},
		Messages:   append([]llm.Message{{Role: llm.User, Content: "go"}}, messages...),
	}
}

// If a worker crashes after a model call, another worker sends the same request again. It must get the same reply.
func TestTheSameRequestGetsTheSameReply(t *testing.T) {
	t.Parallel()
	model := llmtest.Script(llmtest.Say("first"), llmtest.Say("second"))
	later := question(llm.Message{Role: llm.Assistant, Content: "first"}, llm.Message{Role: llm.User, Content: "on"})

	for range 2 {
		for want, req := range map[string]llm.Request{"first": question(), "second": later} {
			reply, err := model.Complete(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, want, reply.Message.Content)
		}
	}
	require.Len(t, model.Requests(), 4)
}

func TestBeyondTheScriptIsAnInvalidRequest(t *testing.T) {
	t.Parallel()
	model := llmtest.Script(llmtest.Say("first"))

	_, err := model.Complete(t.Context(), question(llm.Message{Role: llm.Assistant, Content: "first"}))

	require.ErrorIs(t, err, &llm.Error{Class: llm.InvalidRequest})
	require.ErrorContains(t, err, "1 replies, and the request asks for number 2")
}

func TestRequestsAreCopies(t *testing.T) {
	t.Parallel()
	model := llmtest.Script(llmtest.Say("first"))
	req := question(llm.Message{Role: llm.User, Parts: []llm.Part{{Type: "text", Text: "kept"}}})

	_, err := model.Complete(t.Context(), req)
	require.NoError(t, err)
	req.Messages[1].Parts[0].Text = "changed"

	require.Equal(t, "kept", model.Requests()[0].Messages[1].Parts[0].Text)
}

func ExampleScript() {
	model := llmtest.Script(
		llmtest.Call(llmtest.ToolCall("1", "get_weather", `{"city":"Paris"}`)),
		llmtest.Say("Sunny."),
	)

	req := llm.Request{Messages: []llm.Message{{Role: llm.User, Content: "How is the weather in Paris?"}}}
	reply, _ := model.Complete(context.Background(), req)
	fmt.Println(reply.Message.ToolCalls[0].Arguments)

	req.Messages = append(req.Messages, reply.Message, llm.Message{Role: llm.Tool, ToolCallID: "1", Content: "17 °C"})
	reply, _ = model.Complete(context.Background(), req)
	fmt.Println(reply.Message.Content)
	// Output:
	// {"city":"Paris"}
	// Sunny.
}

func ExampleServe() {
	model := llmtest.Script(llmtest.Say("Sunny."))
	server := llmtest.Serve(model)
	defer server.Close()

	client, _ := openai.New(openai.Options{BaseURL: server.URL})
	reply, _ := client.Complete(context.Background(), llm.Request{
		Candidates: []llm.Candidate{{Name: "fast", Model: "gpt"}},
		Messages:   []llm.Message{{Role: llm.User, Content: "How is the weather?"}},
		Key:        "model-1",
	})
	fmt.Println(reply.Message.Content)
	fmt.Println(model.Requests()[0].Key, model.Requests()[0].Candidates[0].Model)
	// Output:
	// Sunny.
	// model-1 gpt
}
