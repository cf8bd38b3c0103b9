// Package bulk lets a command work on all agents that match an expression: it finds them, asks the person, and goes through them at a limited
// rate. A command says what it does to one agent: see [Action].
package bulk

import (
	"context"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// Action is what a command does to each agent.
type Action struct {
	// Verb is the name of the action at the beginning of a sentence, such as "Resume", and Done what it has done, such as "resumed".
	Verb, Done string
	// Statuses are those of the agents that the action is for. Other agents are left out, even if they match.
	Statuses []client.Status
	// Do does it to one agent. It is called from several goroutines. If the agent is already as the action would leave it, Do returns
	// [object.Already].
	Do func(ctx context.Context, t Target) (Outcome, error)
	// Again are flags with which a repeated command does not do twice what is done; empty if none are needed.
	Again string
}

// Open are the statuses of the agents that have not ended.
var Open = []client.Status{client.Running, client.Waiting, client.Held}

// Target is one agent.
type Target struct {
	client.Entry

	// Client is a client on the task queue of the agent, or on that of the flag --task-queue.
	Client *client.Client
}

// Outcome says what an action has done to an agent.
type Outcome struct {
	// Result is [object.Done] or [object.Already]. Empty means [object.Done].
	Result object.Result
	// Note says more; it may be empty.
	Note string
}

// The limits of a run.
const (
	// parallel limits the agents that are worked on at the same time, because most of the time of an action is waiting.
	parallel = 16
	// DefaultRate is the default of the flag --rate. A worker resumes agents faster than most models answer.
	DefaultRate = 10
	// maxRate is far above what a namespace takes.
	maxRate = 10_000
	// reportEvery is the time between two reports of a long run. The first one comes earlier.
	reportEvery = 10 * time.Second
)
