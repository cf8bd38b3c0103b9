package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/agent"
	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

const (
	// askingAgents is the number of agents that wait for approvals at the same time. Each waits for [askedCalls] approvals.
	askingAgents = 300
	askedCalls   = 7
	// idleChats is the number of chats that wait for a message, which nobody has to approve.
	idleChats = 600
)

// asking plays the language model "asking": it asks for [askedCalls] calls.
func asking(context.Context, llm.Request) (llm.Reply, error) {
	var calls []llm.ToolCall
	for i := range askedCalls {
		calls = append(calls, llmtest.ToolCall(fmt.Sprint("c", i), "read", fmt.Sprintf(`{"page":%d}`, i)))
	}
	return llmtest.Call(calls...), nil
}

// inbox measures how long a list of the calls takes that wait for an approval, without other agents and with chats that wait for a
// message, and how many of all these agents a list of held agents has to read. The namespace has the search attributes of agents.
func (l *lab) inbox(ctx context.Context) error {
	progressf("%d agents with %d approvals each", askingAgents, askedCalls)
	own, err := newLab(ctx, devserver.Options{SearchAttributes: protocol.AttributeTypes()})
	if err != nil {
		return err
	}
	defer own.close()
	c := agents.New(own.temporal, queue)
	began := time.Now()
	if err := startAll(ctx, c, askingAgents, agents.StartOptions{Agent: "asking", Message: "go on"}); err != nil {
		return err
	}
	if _, _, err := readInbox(ctx, c); err != nil {
		return err
	}
	waiting := time.Since(began)
	few, fewCPU, err := readInbox(ctx, c)
	if err != nil {
		return err
	}
	if err := startAll(ctx, c, idleChats, agents.StartOptions{Agent: "idle", Mode: agent.Chat}); err != nil {
		return err
	}
	if err := own.idle(ctx); err != nil {
		return err
	}
	many, manyCPU, err := readInbox(ctx, c)
	if err != nil {
		return err
	}
	held := 0
	for _, err := range c.List(ctx, agents.ListOptions{Statuses: []agents.Status{agents.Held}}) {
		if err != nil {
			return err
		}
		held++
	}
	name := func(what string) string {
		return fmt.Sprintf("%s, %d agents with %d approvals each", what, askingAgents, askedCalls)
	}
	l.report.note(name("s until all wait"), fmt.Sprintf("%.1f", waiting.Seconds()))
	l.report.goal(name("s of the inbox"), fmt.Sprintf("%.2f", few.Seconds()), few <= 2*time.Second, "≤ 2 s")
	l.report.goal(name(fmt.Sprintf("CPU ms of the inbox, and with %d idle chats", idleChats)),
		fmt.Sprintf("%.0f, %.0f", fewCPU.Seconds()*1000, manyCPU.Seconds()*1000), manyCPU <= fewCPU*12/10, "≤ 1.2×")
	l.report.goal(name(fmt.Sprintf("histories that `list --held` reads with %d idle chats", idleChats)), fmt.Sprint(held), held == 0, "none")
	l.report.note(name(fmt.Sprintf("s of the inbox with %d idle chats", idleChats)), fmt.Sprintf("%.2f", many.Seconds()))
	return nil
}

func startAll(ctx context.Context, c *agents.Client, n int, o agents.StartOptions) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(startsAtOnce)
	for range n {
		group.Go(func() error {
			_, err := c.Start(ctx, o)
			return err
		})
	}
	return group.Wait()
}

// idle waits until all chats wait for a message, so that the worker has no work.
func (l *lab) idle(ctx context.Context) error {
	request := &workflowservice.CountWorkflowExecutionsRequest{
		Query: fmt.Sprintf("%s = '%s'", protocol.AttributeWaitingFor.GetName(), agent.WaitsForMessage),
	}
	for began := time.Now(); time.Since(began) < 5*patience; time.Sleep(time.Second) { // the machine may be busy
		found, err := l.temporal.CountWorkflow(ctx, request)
		if err != nil {
			return err
		}
		if found.GetCount() == idleChats {
			return nil
		}
	}
	return fmt.Errorf("not all %d chats wait for a message", idleChats)
}

// readInbox reads the inbox until it has all calls, and returns the time and the CPU time of the last read. The worker of this process has
// no work then.
func readInbox(ctx context.Context, c *agents.Client) (took, used time.Duration, err error) {
	for began := time.Now(); time.Since(began) < 5*patience; time.Sleep(time.Second) { // the machine may be busy
		before, cpu := time.Now(), workerCPU()
		all, err := c.Inbox(ctx)
		if err != nil {
			return 0, 0, err
		}
		if len(all) == askingAgents*askedCalls {
			return time.Since(before), workerCPU() - cpu, nil
		}
	}
	return 0, 0, fmt.Errorf("the inbox does not have the calls of all %d agents", askingAgents)
}
