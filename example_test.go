package reagent_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/llm"
)

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
