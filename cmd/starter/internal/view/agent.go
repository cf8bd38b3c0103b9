package view

import (
	"fmt"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// NewAgent returns the object of an agent.
func NewAgent(s client.Snapshot) object.Agent {
	clock := progress.Clock{Started: s.Started}
	return object.NewAgent(s, clock.Took)
}

// ActionsText returns an estimate of billed actions as one line for people.
func ActionsText(v object.Actions) string {
	text := fmt.Sprintf("billed actions: about %d (starts %d, activities %d, retries %d, heartbeats %d, timers %d, updates %d, signals %d, changes of search attributes %d, waits %d)",
		v.Total, v.Starts, v.Activities, v.Retries, v.Heartbeats, v.Timers, v.Updates, v.Signals, v.Attributes, v.Waits)
	if v.CostUSD > 0 {
		text += fmt.Sprintf("; $%.6f", v.CostUSD)
	}
	return text
}
