package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/workflows"
)

const (
	// listLimit is the number of list requests that Temporal Cloud allows a namespace in a second.
	listLimit    = 30
	resetWorkers = 10
	resetTurns   = 2
)

// resets measures the list requests to Temporal when many agents are reset at the same time. The server has the limit of Temporal
// Cloud. Each agent is a task that has completed. First its run is reset: links lead from the new run to all results. Then the same
// run is reset again: no link leads to the run between, so the newest run finds it only by list requests.
func (l *lab) resets(ctx context.Context, n int) error {
	progressf("%d agents that are reset at once", n)
	server, err := devserver.Start(ctx, devserver.Options{Progress: os.Stderr, DynamicConfig: map[string]string{
		"frontend.namespaceRPS.visibility": fmt.Sprint(listLimit),
	}})
	if err != nil {
		return err
	}
	defer server.Stop()
	var lists requests
	var asked atomic.Int64
	var c client.Client
	for range resetWorkers {
		options, err := dial.ClientOptions(server.Address(), "")
		if err != nil {
			return err
		}
		options.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
		options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(lists.record))
		if c, err = client.DialContext(ctx, options); err != nil {
			return err
		}
		defer c.Close()
		w := worker.New(c, queue, worker.Options{StickyScheduleToStartTimeout: time.Second, MaxConcurrentActivityExecutionSize: 100})
		if err := registerReset(c, w, &asked); err != nil {
			return err
		}
		if err := w.Start(); err != nil {
			return err
		}
		defer w.Stop()
	}
	runs := make([]string, n)
	all, each := errgroup.WithContext(ctx)
	all.SetLimit(50)
	for i := range runs {
		all.Go(func() error {
			started, err := agents.New(c, queue).Start(each, agents.StartOptions{ID: fmt.Sprint("reset-", i), Agent: "x", Message: fmt.Sprint(resetTurns, " turns")})
			if err != nil {
				return err
			}
			run := c.GetWorkflow(each, started.ID, "")
			err = finish(each, run)
			runs[i] = run.GetRunID()
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, name := range []string{"reset", "reset to the same run again"} {
		lists.clear()
		asked.Store(0)
		began := time.Now()
		if err := resetAll(ctx, c, runs); err != nil {
			return err
		}
		total, most, refused := lists.count()
		l.report.note(fmt.Sprintf("%d agents, %d workers, %s", n, resetWorkers, name), fmt.Sprintf("%.0f s", time.Since(began).Seconds()))
		l.report.goal("list requests, most in a second, refused", fmt.Sprintf("%d, %d, %d", total, most, refused), most <= listLimit, fmt.Sprintf("≤ %d a second", listLimit))
		l.report.goal("model requests repeated", fmt.Sprint(asked.Load()), asked.Load() == 0, "0")
	}
	return nil
}

// resetAll resets the given run of each agent to its first task, and waits until all new runs have completed.
func resetAll(ctx context.Context, c client.Client, runs []string) error {
	all, ctx := errgroup.WithContext(ctx)
	for i, run := range runs {
		all.Go(func() error {
			id := fmt.Sprint("reset-", i)
			out, err := c.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
				Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
				Reason: "bench", WorkflowTaskFinishEventId: 4, RequestId: fmt.Sprint(id, time.Now()), // the end of the first task
			})
			if err != nil {
				return err
			}
			return finish(ctx, c.GetWorkflow(ctx, id, out.GetRunId()))
		})
	}
	return all.Wait()
}

// registerReset registers an agent whose requests to the model are counted in `asked`.
func registerReset(c client.Client, w worker.Worker, asked *atomic.Int64) error {
	read, err := readTool()
	if err != nil {
		return err
	}
	tools := new(tool.Registry)
	if err := tools.Add(read); err != nil {
		return err
	}
	doing, err := activities.New(activities.Options{
		Temporal: c, Tools: tools, Log: slog.New(slog.DiscardHandler),
		Models: map[string]activities.Model{"main": {Model: "m", Client: clientFunc(func(ctx context.Context, req llm.Request) (llm.Reply, error) {
			asked.Add(1)
			return model(ctx, req)
		})}},
		Agents: []activities.Agent{{Name: "x", Model: "main", Tools: []string{"read"}, Limits: agent.Limits{ModelCalls: manyCalls}}},
	})
	if err != nil {
		return err
	}
	doing.Register(w)
	workflows.New(workflows.Options{HeartbeatTimeout: 30 * time.Second}).Register(w)
	return nil
}

// requests records the times of the list requests of all workers. It is safe for concurrent use.
type requests struct {
	mu      sync.Mutex
	times   []time.Time
	refused int
}

// record is a gRPC interceptor. Each attempt at a list request counts.
func (r *requests) record(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	at := time.Now()
	err := next(ctx, method, req, reply, cc, opts...)
	if strings.HasSuffix(method, "/ListWorkflowExecutions") {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.times = append(r.times, at)
		if err != nil {
			r.refused++
		}
	}
	return err
}

func (r *requests) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times, r.refused = nil, 0
}

// count returns the number of requests, the largest number of requests in any second, and the number of refused requests.
func (r *requests) count() (total, most, refused int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.times, time.Time.Compare)
	first := 0
	for i, at := range r.times {
		for at.Sub(r.times[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return len(r.times), most, r.refused
}
