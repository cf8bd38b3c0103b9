package faults_test

import (
	"context"
	"time"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
)

// decide plays a person who approves each call that waits for a decision, and gives each external call its result, until ctx ends.
// Two such people act at the same time. A request that fails is made again with the next look at the inbox.
func (c *chaos) decide(ctx context.Context) {
	for pause(ctx, 500*time.Millisecond) == nil {
		all, err := c.Client.Inbox(ctx)
		if err != nil {
			continue // the server may be down
		}
		for _, w := range all {
			decision := agent.Decision{Approve: true}
			if w.Call.WaitsFor() == reagent.WaitsForResult {
				decision = agent.Decision{Result: &agent.GivenResult{Content: "deployed"}}
			}
			c.mu.Lock()
			c.decided[string(w.Call.Key)] = true
			c.mu.Unlock()
			_ = c.Client.Decide(ctx, w, decision)
		}
	}
}
