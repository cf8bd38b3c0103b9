package faults_test

import (
	"context"
	"strings"
	"time"
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
	if len(answers) < started && !cut && len(a.senders) == 0 && !c.extras.wasInterrupted(a.id) {
		v.problemf("%s: %d sub-agents worked in the background, and %d have answered: %v", a.id, started, len(answers), lines)
	}
	v.background += started
}
