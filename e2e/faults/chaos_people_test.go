package faults_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	reagent "github.com/reagent-dev/reagent/client"
)

// decide plays a person who settles each call that waits, until ctx ends. Two such people act at the same time. See [people].
func (c *chaos) decide(ctx context.Context) {
	for pause(ctx, 500*time.Millisecond) == nil {
		all, err := c.Client.Inbox(ctx)
		if err != nil {
			continue // the server may be down
		}
		for _, w := range all {
			c.people.decide(ctx, c.Client, w.AgentID, w.Call)
		}
	}
}

// interrupt interrupts the running turn of an agent. A later message lets the turn go on: see [chaos.goOn].
func (c *chaos) interrupt(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := c.Client.Interrupt(ctx, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupted[id] = true // even after an error, the agent may have been interrupted
	return err
}

// goOn sends an agent whose turn was interrupted a message, with which the turn goes on. The message is one of c.extras or c.perhaps.
func (c *chaos) goOn(ctx context.Context, id string) error {
	c.mu.Lock()
	c.extra++
	m := reagent.Message{ID: fmt.Sprint("extra-", c.extra), Text: fmt.Sprint("say ", 9000+c.extra)}
	c.perhaps[m.Text] = true
	c.mu.Unlock()
	sent, err := c.Client.Send(ctx, id, m)
	if err == nil && sent.Answered == "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.extras[id] = append(c.extras[id], m)
	}
	return err
}

// hearBackground checks the messages that brought results of sub-agents in the background. Each answer came once. In a task, each call
// whose sub-agent began to work in the background has such a message. The parameter lines is the whole transcript of the agent, unless
// cut is true.
func (c *chaos) hearBackground(v *verdict, a cast, lines []line, cut bool) {
	started, answers := 0, map[string]int{}
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l.content, "started: the agent works in the background"):
			started++
		case strings.HasPrefix(l.content, backgroundResult):
			answers[l.content]++
		}
	}
	for text, n := range answers {
		if n > 1 && !strings.Contains(text, "error: ") {
			v.problemf("%s: it got %q %d times", a.id, text, n)
		}
	}
	if len(answers) < started && !cut && len(a.senders) == 0 && !c.interrupted[a.id] {
		v.problemf("%s: %d sub-agents worked in the background, and %d have answered: %v", a.id, started, len(answers), lines)
	}
	v.background += started
}

// backgroundResult is the beginning of a message with the result of a sub-agent in the background.
const backgroundResult = "The agent of call "
