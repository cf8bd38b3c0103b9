package demo

import (
	"fmt"
	"io"

	"github.com/reagent-dev/reagent/client"
)

// Summary is the result of the demo, with the counts of the model's proxy and of the tool server. A new version of the demo may add
// fields, but must not rename or remove any, because scripts read the JSON form.
type Summary struct {
	AgentID string        `json:"agent_id"`
	Status  client.Status `json:"status"`
	Answer  string        `json:"answer,omitempty"`
	Failure string        `json:"failure,omitempty"`
	WebUI   string        `json:"web_ui"`
	// StandIn says that the stand-in replied and not a model.
	StandIn   bool       `json:"stand_in"`
	ModelName string     `json:"model_name"`
	Model     ModelCount `json:"model"`
	// Publish counts the calls of the tool "publish", which must not run twice.
	Publish ToolCount `json:"publish"`
	// Measure counts the calls of the tool "measure", which only reads.
	Measure ToolCount `json:"measure"`
	// Workers has the process IDs of the workers, in the order in which they started.
	Workers []int `json:"workers"`
	// Killed is the process ID of the killed worker; 0 means none.
	Killed int `json:"killed"`
	// FirstMessage is the time from the demo's start to the agent's first reply, in seconds.
	FirstMessage float64 `json:"first_message_seconds"`
	// Recovered is the time from the kill to the agent's next message, in seconds.
	Recovered float64 `json:"recovered_seconds"`
	// Repeated is the number of repeats that must not happen: of answered model requests, and of calls of the tool "publish".
	Repeated int `json:"repeated"`
}

// ModelCount has the counts of the model requests. Its Requests include those that failed.
type ModelCount struct {
	Requests int `json:"requests"`
	// Keys is the number of different idempotency keys.
	Keys int `json:"keys"`
	// Answered is the number of complete responses. A request that the model refused, or whose connection was cut off, has no
	// complete response and is not paid for.
	Answered int `json:"answered"`
	// Repeated is the number of complete responses to repeated requests. A request is repeated if its idempotency key had a
	// complete response already.
	Repeated int `json:"repeated"`
}

// ToolCount has the tool server's counts for one tool.
type ToolCount struct {
	Calls int `json:"calls"`
	// Keys is the number of different idempotency keys.
	Keys int `json:"keys"`
	// Again is the number of calls with the idempotency key of an earlier call.
	Again int `json:"again"`
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
		fmt.Fprintf(out, "  workers  started: %d, killed: 1; %.1f s from the kill to the next message\n", len(s.Workers), s.Recovered)
	} else {
		fmt.Fprintln(out, "\nNo worker was killed: the model did not call measure.")
	}
	if s.Failure != "" {
		fmt.Fprintf(out, "\nThe agent is %s: %s\n", s.Status, s.Failure)
	}
}
