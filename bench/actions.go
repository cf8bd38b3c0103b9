package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/agent"
	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/presence"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
	"github.com/reagent-dev/reagent/workflows"
)

// billing is one measurement of [lab.actions]: an agent, or the workflow by hand, in a namespace of its own.
type billing struct {
	name             string
	byHand           bool
	heartbeatTimeout time.Duration
	watched          bool // by a program that reads the messages
	text             bool // with the text while it grows
	watches          bool // with worker heartbeats, by which workers see that one of them is lost
	agents           int  // at once; 0 means 1
	model            time.Duration
	turns            int     // of each agent, each with one model call and one tool call
	goal             float64 // for the actions a turn; 0 means none
}

// actions measures the actions of a turn, which Temporal Cloud bills. The server counts the actions of each namespace in its metric
// "action". So each measurement has its own namespace, and all of them run at the same time.
func (l *lab) actions(ctx context.Context) error {
	var all []billing
	for _, d := range []time.Duration{0, 8 * time.Second, 60 * time.Second} {
		turns := 10
		if d > 10*time.Second {
			turns = 3 // otherwise the measurement takes too long
		}
		goal := func(g float64) float64 {
			if d != 8*time.Second {
				return 0
			}
			return g
		}
		all = append(all,
			billing{name: "by hand", byHand: true, model: d, turns: turns},
			billing{name: "heartbeat timeout 3 s", heartbeatTimeout: 3 * time.Second, model: d, turns: turns, goal: goal(3)},
			billing{name: "heartbeat timeout 30 s, worker heartbeats, 10 agents", heartbeatTimeout: workflows.WatchedHeartbeatTimeout, watches: true, agents: 10, model: d, turns: turns, goal: goal(2.3)},
			billing{name: "heartbeat timeout 30 s", heartbeatTimeout: 30 * time.Second, model: d, turns: turns, goal: goal(2.3)},
			billing{name: "heartbeat timeout 30 s, watched", heartbeatTimeout: 30 * time.Second, watched: true, model: d, turns: turns, goal: goal(2.3)},
			billing{name: "heartbeat timeout 30 s, text", heartbeatTimeout: 30 * time.Second, watched: true, text: true, model: d, turns: turns, goal: goal(2.3 + 8)},
		)
	}
	progressf("actions, %d measurements at once", len(all))
	results, errs := make([]map[string]float64, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	for i, b := range all {
		group.Go(func() { results[i], errs[i] = l.bill(ctx, fmt.Sprint("billed", i), b) })
	}
	group.Wait()
	for i, b := range all {
		if errs[i] != nil {
			return fmt.Errorf("actions, %s: %w", b.name, errs[i])
		}
		turns := float64(b.turns * max(b.agents, 1))
		sum, kinds := 0.0, []string{}
		for _, kind := range slices.Sorted(maps.Keys(results[i])) {
			n := results[i][kind]
			sum += n
			kinds = append(kinds, fmt.Sprintf("%s %.1f", kind, n/turns))
		}
		total := sum / turns
		label := fmt.Sprintf("actions a turn, model %v, %s", b.model, b.name)
		value := fmt.Sprintf("%.1f (%s)", total, strings.Join(kinds, ", "))
		if b.goal > 0 {
			l.report.goal(label, value, total <= b.goal, fmt.Sprintf("≤ %.1f", b.goal))
		} else {
			l.report.note(label, value)
		}
	}
	return nil
}

// bill runs one measurement in the given namespace, and returns the number of actions of each kind.
func (l *lab) bill(ctx context.Context, namespace string, b billing) (map[string]float64, error) {
	options, err := dial.ClientOptions(l.server.Address(), namespace)
	if err != nil {
		return nil, err
	}
	options.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	_, err = l.temporal.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	if err != nil {
		return nil, err
	}
	temporal, err := dialNamespace(ctx, options)
	if err != nil {
		return nil, err
	}
	defer temporal.Close()
	w := worker.New(temporal, queue, worker.Options{})
	if err := registerBilled(temporal, w, b); err != nil {
		return nil, err
	}
	if b.watches {
		p := presence.New(presence.Options{Temporal: temporal, TaskQueue: queue, Log: slog.New(slog.DiscardHandler)})
		if err := p.Start(ctx, "billed", false); err != nil {
			return nil, err
		}
		defer p.Stop()
	}
	if err := w.Start(); err != nil {
		return nil, err
	}
	defer w.Stop()
	if b.byHand {
		run, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "billed", TaskQueue: queue}, ByHand, b.turns)
		if err == nil {
			err = finish(ctx, run)
		}
		if err != nil {
			return nil, err
		}
		return l.settled(ctx, namespace)
	}
	c := agents.New(temporal, queue)
	ids := []string{"billed"}
	for n := 1; n < b.agents; n++ {
		ids = append(ids, fmt.Sprint("billed", n))
	}
	for _, id := range ids {
		start := agents.StartOptions{ID: id, Agent: "x", Message: fmt.Sprint(b.turns, " turns"), PartialText: b.text}
		if _, err := c.Start(ctx, start); err != nil {
			return nil, err
		}
	}
	if b.watched {
		for _, err := range c.Watch(ctx, "billed", 0) {
			if err != nil {
				return nil, err
			}
		}
	}
	for _, id := range ids {
		if err := temporal.GetWorkflow(ctx, id, "").Get(ctx, new(json.RawMessage)); err != nil {
			return nil, err
		}
	}
	return l.settled(ctx, namespace)
}

// dialNamespace connects to a namespace that was just registered. The server needs some seconds until it knows a new namespace.
func dialNamespace(ctx context.Context, options client.Options) (client.Client, error) {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		c, err := client.DialContext(ctx, options)
		if err != nil {
			return nil, err
		}
		_, err = c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: options.Namespace, PageSize: 1})
		if err == nil || time.Since(began) > patience {
			return c, err
		}
		c.Close()
	}
}

// registerBilled registers the activities of one measurement. The model writes a word each 100 ms until the time is over.
func registerBilled(temporal client.Client, w worker.Worker, b billing) error {
	slow := func(ctx context.Context) {
		hear := llm.Stream(ctx)
		for began := time.Now(); time.Since(began) < b.model; time.Sleep(100 * time.Millisecond) {
			hear(llm.Delta{Text: "word "})
		}
	}
	if b.byHand {
		w.RegisterWorkflow(ByHand)
		w.RegisterActivityWithOptions(func(ctx context.Context, asked, turns int) (string, error) {
			if asked == turns {
				return lastAnswer, nil
			}
			slow(ctx)
			return Model(ctx, asked, turns)
		}, activity.RegisterOptions{Name: "Model"})
		w.RegisterActivity(Tool)
		return nil
	}
	read, err := readTool()
	if err != nil {
		return err
	}
	tools := new(tool.Registry)
	if err := tools.Add(read); err != nil {
		return err
	}
	doing, err := activities.New(activities.Options{
		Temporal: temporal, Tools: tools, Log: slog.New(slog.DiscardHandler),
		Models: map[string]activities.Model{"main": {Model: "m", Client: clientFunc(func(ctx context.Context, req llm.Request) (llm.Reply, error) {
			reply, err := model(ctx, req)
			if err == nil && reply.Message.Content != lastAnswer {
				slow(ctx)
			}
			return reply, err
		})}},
		Agents: []activities.Agent{{Name: "x", Model: "main", Tools: []string{"read"}, Limits: agent.Limits{ModelCalls: manyCalls}}},
	})
	if err != nil {
		return err
	}
	doing.Register(w)
	workflows.New(workflows.Options{HeartbeatTimeout: b.heartbeatTimeout}).Register(w)
	return nil
}

// actionLine matches a line of the metric "action", and captures the kind, the namespace and the count.
var actionLine = regexp.MustCompile(`(?m)^action\{action_type="([^"]+)",namespace="([^"]+)"[^}]*\} (\S+)$`)

// settled returns the actions of a namespace when their number no longer grows. The server updates its metrics about once a second. It is
// an error if after [patience] the number is still 0 or still grows.
func (l *lab) settled(ctx context.Context, namespace string) (map[string]float64, error) {
	var before map[string]float64
	for began := time.Now(); time.Since(began) < patience; time.Sleep(3 * time.Second) {
		kinds, err := l.billed(ctx, namespace)
		if err != nil {
			return nil, err
		}
		if len(kinds) > 0 && maps.Equal(kinds, before) {
			return kinds, nil
		}
		before = kinds
	}
	return nil, fmt.Errorf("the server reports no actions of the namespace %s", namespace)
}

// billed returns the actions that the server has counted in a namespace, by kind.
func (l *lab) billed(ctx context.Context, namespace string) (map[string]float64, error) {
	text, err := metrics(ctx, l.server)
	if err != nil {
		return nil, err
	}
	kinds := map[string]float64{}
	for _, m := range actionLine.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, err
		}
		if m[2] == namespace && n > 0 {
			kinds[kindOf(m[1])] += n
		}
	}
	return kinds, nil
}

// kindOf returns a short name for the type of an action, such as "heartbeat" for "grpc_RecordActivityTaskHeartbeat".
func kindOf(action string) string {
	switch {
	case strings.Contains(action, "Heartbeat"):
		return "heartbeat"
	case strings.Contains(action, "Query"):
		return "query"
	}
	_, name, _ := strings.Cut(action, "_")
	return name
}
