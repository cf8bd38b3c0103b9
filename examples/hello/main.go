// Command hello serves an agent with one tool and asks it a question.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent"
)

type Fruit struct{ Name string } // the arguments of the tool
type Answer struct{ Euros int }  // what the agent answers

func price(_ context.Context, in Fruit) (string, error) {
	if in.Name != "cherry" {
		return "", fmt.Errorf("there is no fruit %q", in.Name) // the model reads this
	}
	return "9 euros", nil
}

func main() {
	ctx := context.Background()
	logger := sdklog.NewStructuredLogger(slog.Default())
	temporal := must(client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Logger: logger}))
	agents := must(reagent.New(ctx, temporal, reagent.Options{
		TaskQueue: "hello",
		Models: map[string]reagent.Model{"main": {
			Name: "gpt-4o-mini", BaseURL: os.Getenv("OPENAI_BASE_URL"), APIKey: os.Getenv("OPENAI_API_KEY"),
		}},
		Agents: []reagent.Agent{{Name: "clerk", Instructions: "You sell fruit.", Tools: []string{"price"}}},
		Tools:  []reagent.Tool{reagent.Func("price", "The price of a kilo.", reagent.ReadOnly, price)},
	}))
	w := worker.New(temporal, "hello", worker.Options{Plugins: []worker.Plugin{agents}})
	if err := w.Start(); err != nil {
		log.Fatal(err)
	}
	defer w.Stop()

	answer := must(reagent.Execute[Answer](ctx, reagent.NewClient(temporal, "hello"),
		reagent.StartOptions{ID: "hello", Agent: "clerk", Message: "What do cherries cost?"}))
	fmt.Println(answer.Euros)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
