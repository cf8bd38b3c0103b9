// Command gotool is a worker of one's own: it serves one agent with two tools that
// are Go functions. Start it, and talk to its agent with starter.
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

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/llm/openai"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/workflows"
)

const taskQueue = "gotool"

func main() {
	if err := serve(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context) error {
	// TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY and their like say where Temporal is.
	options, err := config.WorkerOptions("", "")
	if err != nil {
		return err
	}
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return err
	}
	defer temporal.Close()

	model, err := openai.New(openai.Options{
		BaseURL: os.Getenv("OPENAI_BASE_URL"), APIKey: os.Getenv("OPENAI_API_KEY"),
	})
	if err != nil {
		return err
	}
	tools := new(tool.Registry)
	if err := addTools(tools); err != nil {
		return err
	}
	doing, err := activities.New(activities.Options{
		Temporal: temporal, Converter: options.DataConverter, Tools: tools, Agents: []activities.Agent{clerk},
		Models: map[string]activities.Model{
			"main": {Client: model, Model: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4o-mini")},
		},
	})
	if err != nil {
		return err
	}
	// A mistake in an agent's tools is found here, not when somebody starts the agent.
	if err := doing.Check(ctx); err != nil {
		return err
	}

	w := worker.New(temporal, taskQueue, quickRecovery)
	workflows.New(workflows.Options{}).Register(w)
	doing.Register(w)
	if err := w.Start(); err != nil {
		return err
	}
	fmt.Println("Ready.")
	<-worker.InterruptCh()
	w.Stop()
	return nil
}

// clerk is the agent.
var clerk = activities.Agent{
	Name: "clerk", Model: "main",
	Instructions: "You sell fruit. Look up the price before you order, and tell it.",
	Tools:        []string{"price", "order"},
	Limits:       agent.Limits{ModelCalls: 20, Time: 10 * time.Minute},
}

// quickRecovery lets another worker go on within seconds when this one dies.
var quickRecovery = worker.Options{
	// How long the agents of a worker that died wait for it before another takes them.
	StickyScheduleToStartTimeout: time.Second,
	// A deploy is no reason to lose a call: what runs may end.
	WorkerStopTimeout: 2 * time.Minute,
}
