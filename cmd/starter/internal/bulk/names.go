package bulk

import (
	"strings"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/listing"
)

// facts are what an expression knows about an agent. Scripts have these names, so names may be added, but must not be changed.
type facts struct {
	ID       string            `expr:"id"`
	Agent    string            `expr:"agent"`
	Task     string            `expr:"task"`
	Parent   string            `expr:"parent"`
	Metadata map[string]string `expr:"metadata"`
	Started  time.Time         `expr:"started"`
	Age      time.Duration     `expr:"age"`
	// Ended is the zero time for an agent that has not ended. A comparison with it is then false: see [neverEnded].
	Ended time.Time `expr:"ended"`

	Open       bool `expr:"open"`
	Completed  bool `expr:"completed"`
	Failed     bool `expr:"failed"`
	Cancelled  bool `expr:"cancelled"`
	Terminated bool `expr:"terminated"`
	TimedOut   bool `expr:"timed_out"`

	Status   string  `expr:"status"`
	Running  bool    `expr:"running"`
	Waiting  bool    `expr:"waiting"`
	Held     bool    `expr:"held"`
	WaitsFor string  `expr:"waits_for"`
	Class    string  `expr:"class"`
	Tokens   int     `expr:"tokens"`
	Cost     float64 `expr:"cost"`

	Stopped string `expr:"stopped"`
	Digest  string `expr:"digest"`
}

// depths says what has to be read of an agent for each name.
var depths = map[string]listing.Depth{
	"id": listing.Listed, "agent": listing.Listed, "task": listing.Listed, "parent": listing.Listed, "metadata": listing.Listed,
	"started": listing.Listed, "age": listing.Listed, "ended": listing.Listed, "open": listing.Listed, "completed": listing.Listed,
	"failed": listing.Listed, "cancelled": listing.Listed, "terminated": listing.Listed, "timed_out": listing.Listed,

	"status": listing.Described, "running": listing.Described, "waiting": listing.Described, "held": listing.Described,
	"waits_for": listing.Described, "class": listing.Described, "tokens": listing.Described, "cost": listing.Described,

	"stopped": listing.Whole, "digest": listing.Whole,
}

// factsOf returns the facts about an agent. The age is that at the time `now`.
func factsOf(r listing.Row, now time.Time) facts {
	e, s := r.Entry, r.Snapshot
	f := facts{
		ID: e.ID, Agent: e.Agent, Task: s.Task, Parent: e.Parent, Metadata: e.Metadata, Started: e.Started, Age: now.Sub(e.Started), Ended: e.Ended,
		Open: !s.Status.Ended(), Completed: s.Status == client.Completed, Failed: s.Status == client.Failed, Cancelled: s.Status == client.Cancelled,
		Terminated: s.Status == client.Terminated, TimedOut: s.Status == client.TimedOut,
		Status: string(s.Status), Running: s.Status == client.Running, Waiting: s.Status == client.Waiting, Held: s.Status == client.Held,
		WaitsFor: string(s.WaitsFor), Class: s.Class, Stopped: s.Stopped, Digest: s.Digest,
	}
	if s.Spent != nil {
		f.Tokens, f.Cost = s.Spent.Tokens(), s.Spent.Cost.Dollars()
	}
	return f
}

// NamesHelp describes the names, for the help of commands that take an expression.
const NamesHelp = `The expression is one of expr-lang.org, with these names:

  id, agent, task, parent    texts; parent is the ID of the parent
  metadata                   such as metadata.customer == "42", or "customer" in metadata
  open                       the agent has not ended: it is running, waiting or held
  running, waiting, held, completed, failed, cancelled, terminated, timed_out
                             the status; status is the same as a text
  waits_for, class, stopped  texts, as in "starter list --json"
  tokens, cost               numbers, with the sub-agents that have ended; cost in dollars
  started, ended             times, such as started > date("2026-01-31T12:00:00Z"); for an
                             agent that has not ended, no comparison with ended holds
  age                        time since the start, such as age > duration("24h")
  digest                     the agent's definition, as in "starter show --json"

Operators: and, or, not, ==, !=, <, <=, >, >=, in, contains, startsWith, endsWith, matches,
+, -, *, /, ?:. Functions: ` + functionNames + `.`

var functions = []string{"date", "duration", "len", "lower", "now", "trim", "upper"}

const functionNames = "date, duration, len, lower, now, trim, upper"

// nameList returns the names for the text of an error.
func nameList() string {
	return strings.Join([]string{
		"id, agent, task, parent, metadata, open, running, waiting, held, completed, failed, cancelled, terminated, timed_out, status",
		"waits_for, class, stopped, tokens, cost, started, ended, age, digest",
	}, ", ")
}
