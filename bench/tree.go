package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

const (
	// treeDepth is the number of levels of a tree: an agent, its sub-agents, and theirs.
	treeDepth = 3
	treeWidth = 10
	treeSize  = 1 + treeWidth + treeWidth*treeWidth
)

// treeModel plays the language model of the agents "tree2" and "tree1": it calls [treeWidth] sub-agents of the given name at once, and then
// answers.
func treeModel(subAgent string) clientFunc {
	return func(_ context.Context, req llm.Request) (llm.Reply, error) {
		if req.Messages[len(req.Messages)-1].Role == llm.Tool {
			return llmtest.Say(lastAnswer), nil
		}
		var calls []llm.ToolCall
		for i := range treeWidth {
			calls = append(calls, llmtest.ToolCall(fmt.Sprint("c", i), subAgent, fmt.Sprintf(`{"task":"part %d"}`, i)))
		}
		return llmtest.Call(calls...), nil
	}
}

// tree measures a tree of sub-agents beside [TreeByHand].
func (l *lab) tree(ctx context.Context, rounds int) error {
	progressf("a tree of depth %d and width %d", treeDepth, treeWidth)
	var took, workers, servers [len(contestants)][]float64
	for round := range rounds {
		for i := range contestants {
			who := contestants[(i+round)%len(contestants)]
			id := fmt.Sprint("tree-", who, "-", round)
			before, worker, server := time.Now(), workerCPU(), serverCPU(l.server.PID())
			if who == byHand {
				run, err := l.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, TreeByHand, treeDepth-1)
				if err != nil {
					return err
				}
				if err := finish(ctx, run); err != nil {
					return err
				}
			} else {
				c := agents.New(l.temporal, queue)
				if _, err := c.Start(ctx, agents.StartOptions{ID: id, Agent: "tree2", Message: "go on"}); err != nil {
					return err
				}
				if err := finish(ctx, l.temporal.GetWorkflow(ctx, id, "")); err != nil {
					return err
				}
			}
			took[who] = append(took[who], time.Since(before).Seconds())
			workers[who] = append(workers[who], (workerCPU()-worker).Seconds()*1000/treeSize)
			servers[who] = append(servers[who], (serverCPU(l.server.PID())-server).Seconds()*1000/treeSize)
		}
	}
	name := func(what string) string {
		return fmt.Sprintf("%s, tree of depth %d and width %d", what, treeDepth, treeWidth)
	}
	l.report.compare(name("s"), "%.1f", medians(took), 0)
	l.report.compare(name("worker CPU ms an agent"), "%.1f", medians(workers), 0)
	l.report.compare(name("server CPU ms an agent"), "%.1f", medians(servers), 0)
	return nil
}

// TreeByHand is the workflow with which a tree of sub-agents is compared. It calls the model, runs [treeWidth] children that have a level
// less below them, and calls the model again. With no level below it, it calls the model once.
func TreeByHand(ctx workflow.Context, below int) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 5 * time.Minute})
	var reply string
	if err := workflow.ExecuteActivity(ctx, Model, 1, 1).Get(ctx, &reply); err != nil || below == 0 {
		return reply, err
	}
	var children []workflow.Future
	for range treeWidth {
		children = append(children, workflow.ExecuteChildWorkflow(ctx, TreeByHand, below-1))
	}
	for _, child := range children {
		if err := child.Get(ctx, nil); err != nil {
			return "", err
		}
	}
	err := workflow.ExecuteActivity(ctx, Model, 1, 1).Get(ctx, &reply)
	return reply, err
}
