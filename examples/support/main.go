// Command support is the support desk of a shop. Customers chat over HTTP with an agent that uses the shop's own HTTP API, and employees
// approve what is expensive. The same process is the web server and the worker. Temporal stores everything encrypted.
package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
)

const taskQueue = "support"

func main() {
	key := must(hex.DecodeString(os.Getenv("SUPPORT_KEY")))
	codec := must(reagent.NewEncryptionCodec(reagent.EncryptionOptions{Keys: map[string][]byte{"k1": key}, KeyID: "k1"}))
	encoding := reagent.NewClientPlugin(codec)
	options := must(reagent.WorkerOptions("", ""))
	options.Plugins = []client.Plugin{encoding}
	temporal := must(client.Dial(options))
	desk := desk(shop(os.Getenv("SHOP_URL")))
	hub := new(reagent.Hub)
	desk.TaskQueue, desk.Streamer = taskQueue, hub
	desk.Models = map[string]reagent.Model{"main": {
		Name: cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-4o-mini"), BaseURL: os.Getenv("OPENAI_BASE_URL"), APIKey: os.Getenv("OPENAI_API_KEY"),
		Price: agent.Price{Input: agent.Dollar * 15 / 1e8, Output: agent.Dollar * 60 / 1e8}, // of a token
	}}
	agents := must(reagent.New(context.Background(), temporal, desk))
	w := worker.New(temporal, taskQueue, worker.Options{Plugins: []worker.Plugin{agents}, Interceptors: []interceptor.WorkerInterceptor{new(timing)}})
	w.RegisterWorkflow(Triage)
	if err := w.Start(); err != nil {
		log.Fatal(err)
	}
	defer w.Stop()

	chats := &service{agents: encoding.Client(temporal, taskQueue), hub: hub}
	server := &http.Server{Addr: cmp.Or(os.Getenv("ADDRESS"), "127.0.0.1:8080"), Handler: chats.handler(codec), ReadHeaderTimeout: 10 * time.Second}
	go func() { log.Print(server.ListenAndServe()) }()
	fmt.Println("Ready.")
	<-worker.InterruptCh()
	_ = server.Close()
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// desk returns the options of the worker without its models, so that tests can use other models.
func desk(s shop) reagent.Options {
	return reagent.Options{
		Agents: []reagent.Agent{{
			Name: "desk", Tools: []string{"orders", "refund", "ticket"},
			Instructions: "You are the support desk of a shop. Look up the orders before you refund, and open a ticket for what you cannot solve.",
			Approval:     reagent.ApprovalPolicy{"refund": reagent.ApprovalIf("args.euros > 50")},
			Limits:       reagent.Limits{ModelCalls: 20},
		}, {Name: "triage", Instructions: "You read a mail to the shop."}},
		Tools: s.tools(),
	}
}

// Verdict is what the agent triage says about a mail.
type Verdict struct {
	Urgent  bool   `json:"urgent"`
	Summary string `json:"summary"`
}

// Triage is a workflow that lets an agent read each mail, and returns the verdicts in the order of the mails.
func Triage(ctx workflow.Context, mails []string) ([]Verdict, error) {
	verdicts := make([]Verdict, len(mails))
	for i, mail := range mails {
		var err error
		if verdicts[i], err = reagent.RunAs[Verdict](ctx, reagent.Task{Agent: "triage", Message: mail}); err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// timing is an interceptor that logs how long each activity takes, such as a model call or a tool call.
type timing struct {
	interceptor.WorkerInterceptorBase
}

func (*timing) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &timed{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type timed struct {
	interceptor.ActivityInboundInterceptorBase
}

func (t *timed) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	began := time.Now()
	out, err := t.Next.ExecuteActivity(ctx, in)
	info := activity.GetInfo(ctx)
	slog.Info("activity", "type", info.ActivityType.Name, "agent", info.WorkflowExecution.ID, "took", time.Since(began), "error", err)
	return out, err
}
