// Command service offers a chat over HTTP. The same process is the web server and the worker of the agents.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent"
)

const taskQueue = "service"

// Order is what the tool order gets from the model.
type Order struct {
	Fruit string `json:"fruit"`
	Kilos int    `json:"kilos"`
}

func order(_ context.Context, in Order) (string, error) {
	return fmt.Sprintf("ordered %d kg of %s", in.Kilos, in.Fruit), nil
}

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
	hub := new(reagent.Hub)
	agents, err := reagent.New(ctx, temporal, reagent.Options{
		TaskQueue: taskQueue, Streamer: hub, Converter: options.DataConverter,
		Models: map[string]reagent.Model{"main": {
			Name: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4o-mini"), BaseURL: os.Getenv("OPENAI_BASE_URL"), APIKey: os.Getenv("OPENAI_API_KEY"),
		}},
		Agents: []reagent.Agent{{
			Name: "clerk", Instructions: "You sell fruit.", Tools: []string{"order"},
			Approval: reagent.ApprovalPolicy{"order": reagent.ApprovalAlways},
		}},
		Tools: []reagent.Tool{reagent.Func("order", "Orders fruit.", reagent.AtMostOnce, order)},
	})
	if err != nil {
		return err
	}
	w := worker.New(temporal, taskQueue, worker.Options{Plugins: []worker.Plugin{agents}})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()

	chats := &service{agents: reagent.NewClient(temporal, taskQueue).WithConverter(options.DataConverter), hub: hub}
	server := &http.Server{Addr: cmp.Or(os.Getenv("ADDRESS"), "127.0.0.1:8080"), Handler: chats.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-worker.InterruptCh()
		_ = server.Close()
	}()
	fmt.Println("Ready.")
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
