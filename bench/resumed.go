package main

import (
	"context"
	"fmt"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// bigResults is the number of tool results of 1 MB in each turn of the agent "resumed".
const bigResults = 5

// bigTool is the name of the tool that returns results of 1 MB.
const bigTool = "big"

// bigModel plays the language model "big". It returns the reply of [model], but each tool call in the reply becomes a call of
// [bigTool].
func bigModel(ctx context.Context, req llm.Request) (llm.Reply, error) {
	reply, err := model(ctx, req)
	for i := range reply.Message.ToolCalls {
		reply.Message.ToolCalls[i].Name = bigTool
	}
	return reply, err
}

// resumed measures the turns of one agent that is terminated and resumed again and again. Before each call, the agent searches its
// earlier runs for a result of the same call, so the time of a turn shows what this search costs with many runs and long histories.
func (l *lab) resumed(ctx context.Context, resumes int) error {
	progressf("one agent that is resumed %d times", resumes)
	agents := client.New(l.temporal, queue)
	const id = "bench-resumed"
	task := fmt.Sprint(bigResults, " turns")
	if _, err := agents.Start(ctx, client.StartOptions{ID: id, Agent: "resumed", Mode: agent.Chat, Message: task}); err != nil {
		return err
	}
	first, next, err := turnTime(ctx, agents, id, 0)
	last := first
	for range resumes {
		if err != nil {
			return err
		}
		if err := l.temporal.TerminateWorkflow(ctx, id, "", "bench"); err != nil {
			return err
		}
		if _, err := agents.Resume(ctx, id, client.ResumeOptions{Message: task}); err != nil {
			return err
		}
		last, next, err = turnTime(ctx, agents, id, next)
	}
	name := fmt.Sprintf("ms a turn with %d MB of results, first run, after %d resumes", bigResults, resumes)
	l.report.note(name, fmt.Sprintf("%d, %d", first, last))
	return err
}

// turnTime waits until an agent waits for a message, and returns the duration of its last turn in milliseconds. The turn
// begins with the message at index `from`. The result `next` is the index after the last message of the turn.
func turnTime(ctx context.Context, agents *client.Client, id string, from int) (took int64, next int, err error) {
	var began, ended int64
	for p, err := range agents.Watch(ctx, id, from) {
		switch {
		case err != nil:
			return 0, 0, err
		case p.Message != nil && began == 0:
			began = p.Message.Time
		case p.Message != nil:
			ended, next = p.Message.Time, p.Index+1
		case p.Status == client.Waiting && ended > 0:
			return ended - began, next, nil
		case p.Status != "" && p.Status != client.Running:
			return 0, 0, fmt.Errorf("%s is %s", id, p.Status)
		}
	}
	return 0, 0, context.Cause(ctx)
}
