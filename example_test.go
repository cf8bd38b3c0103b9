package reagent_test

import (
	"context"
	"fmt"
	"strings"

	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/llm"
)

// Each customer has an agent of its own, which the worker makes when the agent starts. In a program, the settings of the customers are in a
// database. The agent keeps them until `starter reload`.
func ExampleOptions_lookup() { //nolint:testableexamples // it takes a server
	settings := map[string]string{"acme": "You answer for Acme. Be formal.", "plum": "You answer for Plum. Be funny."}
	var temporal client.Client
	agents, err := reagent.New(context.Background(), temporal, reagent.Options{
		Models: map[string]reagent.Model{"main": {Name: "gpt-4o-mini", APIKey: "the key"}},
		Lookup: func(_ context.Context, name string) (reagent.Agent, bool, error) {
			customer, named := strings.CutPrefix(name, "support-") // the name comes from whoever starts the agent
			instructions, known := settings[customer]
			return reagent.Agent{Instructions: instructions, Limits: reagent.Limits{ModelCalls: 20}}, named && known, nil
		},
	})
	if err != nil {
		panic(err)
	}
	defer agents.Close()
}

// A program that embeds a worker can show text while it grows. In this example, the chunks do not come from a model. In a
// program, set the Hub as [reagent.Options].Streamer, and the worker passes its chunks to the Hub.
func ExampleHub() {
	hub := new(reagent.Hub)
	pieces := hub.Listen(context.Background(), "talk")

	hub.Stream(reagent.Chunk{AgentID: "talk", Attempt: 1, Delta: llm.Delta{Text: "It is sun"}})
	hub.Stream(reagent.Chunk{AgentID: "talk", Attempt: 1, End: reagent.Discarded}) // the stream was cut
	for _, text := range []string{"It", " is", " sunny."} {
		hub.Stream(reagent.Chunk{AgentID: "talk", Attempt: 2, Delta: llm.Delta{Text: text}})
	}
	hub.Stream(reagent.Chunk{AgentID: "talk", Attempt: 2, End: reagent.Committed})

	var said strings.Builder
	for p := range pieces {
		switch p.End {
		case "":
			said.WriteString(p.Delta.Text)
			fmt.Println(said.String())
		case reagent.Discarded:
			said.Reset()
		case reagent.Committed: // the message comes with the transcript
			return
		}
	}
	// Output:
	// It is sun
	// It
	// It is
	// It is sunny.
}
