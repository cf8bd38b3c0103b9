package activities_test

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/workflows"
)

// This is a program with its own worker. The example examples/gotool is a complete program, with options for quick recovery.
func Example() { //nolint:testableexamples // it serves until it is stopped
	temporal, err := client.NewLazyClient(client.Options{})
	if err != nil {
		panic(err)
	}
	defer temporal.Close()
	tools := new(tool.Registry)
	if err := tools.Add(tool.MustFunc("greet", "Greets.", tool.ReadOnly,
		func(context.Context, struct{}) (string, error) { return "Hello", nil })); err != nil {
		panic(err)
	}
	doing, err := activities.New(activities.Options{
		Temporal: temporal, Tools: tools,
		Models: map[string]activities.Model{"main": {Client: llmtest.Script(), Model: "scripted"}},
		Agents: []activities.Agent{{Name: "greeter", Model: "main", Tools: []string{"greet"}}},
	})
	if err != nil {
		panic(err)
	}
	w := worker.New(temporal, "agents", worker.Options{})
	workflows.New(workflows.Options{}).Register(w)
	doing.Register(w)
	if err := w.Run(worker.InterruptCh()); err != nil {
		panic(err)
	}
}

// Check finds mistakes in the configuration of agents when the worker starts.
func ExampleActivities_Check() {
	temporal, err := client.NewLazyClient(client.Options{})
	if err != nil {
		panic(err)
	}
	defer temporal.Close()
	doing, err := activities.New(activities.Options{
		Temporal: temporal,
		Models:   map[string]activities.Model{"main": {Client: llmtest.Script(), Model: "scripted"}},
		Agents:   []activities.Agent{{Name: "clerk", Model: "main", Tools: []string{"order"}}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(doing.Check(context.Background()))
	// Output: agents.clerk.tools[0]: unknown tool "order" (the known tools are ask_user, read_result)
}
