package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reagent-dev/reagent/agent"
	agents "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// thinking is the time that the model "thinking" takes for each reply.
const thinking = 1200 * time.Millisecond

func slowModel(context.Context, llm.Request) (llm.Reply, error) {
	time.Sleep(thinking)
	return llmtest.Say("done"), nil
}

// latency measures what people feel. A person sends messages to a chat and watches it. The first measured time is from the call of
// Send to the answer on the screen, without the time of the model. The second is from the workflow task that put the answer into the
// transcript to the screen.
func (l *lab) latency(ctx context.Context, messages int) error {
	progressf("latency of %d messages", messages)
	c := agents.New(l.temporal, queue)
	started, err := c.Start(ctx, agents.StartOptions{ID: "latency", Agent: "thinking", Mode: agent.Chat, Message: "hello"})
	if err != nil {
		return err
	}
	var added, seen []float64
	sent := time.Time{} // of the last message; zero for the first one, which includes the start
	for p, err := range c.Watch(ctx, started.ID, 0) {
		now := time.Now()
		switch {
		case err != nil:
			return err
		case p.Message != nil && p.Message.Role == llm.Assistant && !sent.IsZero():
			added = append(added, (now.Sub(sent)-thinking).Seconds()*1000)
			seen = append(seen, float64(now.Sub(time.UnixMilli(p.Message.Time)).Milliseconds()))
		case p.Status != agents.Waiting:
		case len(added) == messages:
			slices.Sort(added)
			slices.Sort(seen)
			middle, last := messages/2, messages-1
			l.report.note(fmt.Sprintf("ms that a durable turn adds, p50 and worst of %d", messages), fmt.Sprintf("%.0f, %.0f", added[middle], added[last]))
			l.report.goal(fmt.Sprintf("ms from an answer in history to a watcher, p50 and worst of %d", messages),
				fmt.Sprintf("%.0f, %.0f", seen[middle], seen[last]), seen[middle] <= 30, "≤ 30 at p50")
			return c.Close(ctx, started.ID)
		default:
			sent = time.Now()
			if _, err := c.Send(ctx, started.ID, agents.Message{Text: "and now?"}); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}
