package demo

import (
	"fmt"
	"io"
	"time"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/object"
)

// Summary is the result of the demo, with the counts of the model's proxy and of the tool server.
type Summary struct {
	AgentID string
	Status  client.Status
	Answer  string
	Failure string
	WebUI   string
	// StandIn says that the stand-in replied and not a model.
	StandIn   bool
	ModelName string
	Model     ModelCount
	// Publish counts the calls of the tool "publish", which must not run twice.
	Publish ToolCount
	// Measure counts the calls of the tool "measure", which only reads.
	Measure ToolCount
	// Workers has the process IDs of the workers, in the order in which they started.
	Workers []int
	// Killed is the process ID of the killed worker; 0 means none.
	Killed int
	// FirstMessage is the time from the demo's start to the agent's first reply.
	FirstMessage time.Duration
	// Recovered is the time from the kill to the agent's next message.
	Recovered time.Duration
	// Repeated is the number of repeats that must not happen: of answered model requests, and of calls of the tool "publish".
	Repeated int
}

// ModelCount has the counts of the model requests. Its Requests include those that failed.
type ModelCount struct {
	Requests int
	// Keys is the number of different idempotency keys.
	Keys int
	// Answered is the number of complete responses. A request that the model refused, or whose connection was cut off, has no
	// complete response and is not paid for.
	Answered int
	// Repeated is the number of complete responses to repeated requests. A request is repeated if its idempotency key had a
	// complete response already.
	Repeated int
}

// ToolCount has the tool server's counts for one tool.
type ToolCount struct {
	Calls int
	// Keys is the number of different idempotency keys.
	Keys int
	// Again is the number of calls with the idempotency key of an earlier call.
	Again int
}

// Object returns the summary as it is printed with --json.
func (s Summary) Object() object.Demo {
	effects := func(c ToolCount) object.Effects {
		return object.Effects{ToolCalls: c.Calls, Keys: c.Keys, Repeated: c.Again}
	}
	return object.Demo{
		ID: s.AgentID, Status: s.Status, Answer: s.Answer, Error: s.Failure, WebUI: s.WebUI, Model: s.ModelName, StandIn: s.StandIn,
		ModelRequests: object.ModelRequests(s.Model), Publish: effects(s.Publish), Measure: effects(s.Measure),
		Workers: s.Workers, Killed: s.Killed, FirstMessageMS: object.Millis(s.FirstMessage), RecoveredMS: object.Millis(s.Recovered), Repeated: s.Repeated,
	}
}

func (s Summary) show(out io.Writer) {
	allowed := ""
	if s.Measure.Again > 0 {
		allowed = " (measure only reads, so the call that was under way may run again)"
	}
	fmt.Fprintf(out, `
What the model's proxy and the tool server counted
  model    requests: %d, answered: %d, keys: %d, repeated: %d
  publish  calls: %d, keys: %d, repeated: %d
  measure  calls: %d, keys: %d, repeated: %d%s
`, s.Model.Requests, s.Model.Answered, s.Model.Keys, s.Model.Repeated,
		s.Publish.Calls, s.Publish.Keys, s.Publish.Again,
		s.Measure.Calls, s.Measure.Keys, s.Measure.Again, allowed)
	if s.Killed != 0 {
		fmt.Fprintf(out, "  workers  started: %d, killed: 1; %.1f s from the kill to the next message\n", len(s.Workers), s.Recovered.Seconds())
	} else {
		fmt.Fprintln(out, "\nNo worker was killed: the model did not call measure.")
	}
	if s.Failure != "" {
		fmt.Fprintf(out, "\nThe agent is %s: %s\n", s.Status, s.Failure)
	}
}
