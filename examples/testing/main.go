// Command testing is a worker with one agent, which looks up prices and orders fruit. Its tests, in main_test.go, need no model and, most
// of them, no server.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent"
)

const taskQueue = "testing"

func main() {
	if err := serve(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context) error {
	options, err := reagent.WorkerOptions("", "")
	if err != nil {
		return err
	}
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return err
	}
	defer temporal.Close()

	shop := shop(new(market))
	shop.TaskQueue, shop.Converter = taskQueue, options.DataConverter
	shop.Models = map[string]reagent.Model{"main": {Name: "gpt-4o-mini", BaseURL: os.Getenv("OPENAI_BASE_URL"), APIKey: os.Getenv("OPENAI_API_KEY")}}
	agents, err := reagent.New(ctx, temporal, shop)
	if err != nil {
		return err
	}
	w := worker.New(temporal, taskQueue, worker.Options{Plugins: []worker.Plugin{agents}})
	register(w)
	if err := w.Start(); err != nil {
		return err
	}
	fmt.Println("Ready.")
	<-worker.InterruptCh()
	w.Stop()
	return nil
}

// register registers the workflows of the program.
func register(w worker.Registry) { w.RegisterWorkflow(Buy) }

// Buy is a workflow that lets the agent order a fruit, and returns the agent's answer.
func Buy(ctx workflow.Context, fruit string) (string, error) {
	result, err := reagent.Run(ctx, reagent.Task{Agent: "clerk", Message: "Order one " + fruit + "."})
	return result.Answer, err
}

// shop returns the options of the worker without its models, so that tests can use other models.
func shop(m *market) reagent.Options {
	return reagent.Options{
		Agents: []reagent.Agent{{
			Name:            "clerk",
			Instructions:    "You sell fruit. Look up the price before you order.",
			Tools:           []string{"price", "order"},
			Approval:        reagent.ApprovalPolicy{"order": reagent.ApprovalAlways},
			ApprovalTimeout: time.Hour,
			Limits:          reagent.Limits{ModelCalls: 20},
		}},
		Tools: []reagent.Tool{
			reagent.Func("price", "The price of a fruit.", reagent.ReadOnly, m.price),
			reagent.Func("order", "Orders one fruit.", reagent.AtMostOnce, m.order),
		},
	}
}

// Fruit has the arguments of both tools.
type Fruit struct {
	Name string `json:"name"`
}

// market stands for a service that sells fruit.
type market struct{}

func (*market) price(_ context.Context, in Fruit) (string, error) {
	if in.Name != "cherry" {
		return "", fmt.Errorf("there is no fruit %q", in.Name)
	}
	return "9 euros", nil
}

func (*market) order(_ context.Context, in Fruit) (string, error) {
	return "ordered one " + in.Name, nil
}
