// Command gotool is a worker that serves one agent with two tools, which are Go functions. Use starter to send messages to
// the agent.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent"
)

const taskQueue = "gotool"

func main() {
	if err := serve(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context) error {
	// WorkerOptions reads TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY and Temporal's other variables.
	options, err := reagent.WorkerOptions("", "")
	if err != nil {
		return err
	}
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return err
	}
	defer temporal.Close()

	agents, err := reagent.New(ctx, temporal, reagent.Options{
		TaskQueue: taskQueue, Models: map[string]reagent.Model{"main": model()},
		Agents: []reagent.Agent{clerk}, Tools: tools(),
		Converter: options.DataConverter, // a codec may encrypt payloads
	})
	if err != nil {
		return err
	}
	w := worker.New(temporal, taskQueue, worker.Options{Plugins: []worker.Plugin{agents}})
	if err := w.Start(); err != nil {
		return err
	}
	fmt.Println("Ready.")
	<-worker.InterruptCh()
	w.Stop()
	return nil
}

func model() reagent.Model {
	return reagent.Model{
		Name: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4o-mini"), BaseURL: os.Getenv("OPENAI_BASE_URL"), APIKey: os.Getenv("OPENAI_API_KEY"),
	}
}

var clerk = reagent.Agent{
	Name:         "clerk",
	Instructions: "You sell fruit. Look up the price before you order, and tell it.",
	Tools:        []string{"price", "order"},
	Limits:       reagent.Limits{ModelCalls: 20, Time: 10 * time.Minute},
}
