package openai_test

import (
	"context"
	"fmt"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

func ExampleClient_Complete_stream() {
	server := llmtest.Serve(llmtest.Script(llmtest.Say("It is sunny in Paris.")))
	defer server.Close()
	client, err := openai.New(openai.Options{BaseURL: server.URL})
	if err != nil {
		panic(err)
	}

	ctx := llm.WithStream(context.Background(), func(d llm.Delta) { fmt.Printf("%s|", d.Text) })
	reply, err := client.Complete(ctx, llm.Request{
		Candidates: []llm.Candidate{{Name: "fast", Model: "gpt"}},
		Messages:   []llm.Message{{Role: llm.User, Content: "How is the weather?"}},
	})

	fmt.Println()
	fmt.Println(reply.Message.Content, err)
	// Output:
	// It is s|unny in| Paris.|
	// It is sunny in Paris. <nil>
}
