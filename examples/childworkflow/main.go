// Command childworkflow runs a workflow that asks agents. The program serves the workflow and the agents, starts the
// workflow, and prints its result.
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

const taskQueue = "childworkflow"

func main() {
	topics := os.Args[1:]
	if len(topics) == 0 {
		topics = []string{"durable execution", "idempotency keys"}
	}
	if err := run(context.Background(), topics); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, topics []string) error {
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
		TaskQueue: taskQueue, Converter: options.DataConverter,
		Agents: []reagent.Agent{{
			Name: "writer", Instructions: "Explain the topic in one sentence.",
			Limits: reagent.Limits{ModelCalls: 5, Time: time.Minute},
		}},
		Models: map[string]reagent.Model{"main": {
			Name: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4o-mini"), BaseURL: os.Getenv("OPENAI_BASE_URL"), APIKey: os.Getenv("OPENAI_API_KEY"),
		}},
	})
	if err != nil {
		return err
	}
	w := worker.New(temporal, taskQueue, worker.Options{Plugins: []worker.Plugin{agents}})
	w.RegisterWorkflow(Glossary)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()

	started, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "glossary", TaskQueue: taskQueue}, Glossary, topics)
	if err != nil {
		return err
	}
	var lines []string
	if err := started.Get(ctx, &lines); err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	return nil
}
