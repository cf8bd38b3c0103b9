package page

import (
	"fmt"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
)

// status is the line that says what the agent does.
type status struct {
	// Status is the status of the agent, or "idle" if it waits for a message. The style sheet has colours for it. Text says it to people, and
	// Problem why it does not go on.
	Status, Text, Problem string
	// Usage is what the agent has used.
	Usage string
	// Ended reports whether the agent has ended, and Closed whether it takes no message.
	Ended, Closed bool
}

var statusTexts = map[client.WaitsFor]string{
	client.WaitsForMessage: "Waits for your message", client.WaitsForApproval: "Waits for an approval", client.WaitsForAnswer: "Waits for an answer",
	client.WaitsForResult: "Waits for a result from outside", client.WaitsForRelease: "Stopped; a message lets it go on",
	client.WaitsForSubAgents: "Waits for sub-agents",
}

var endTexts = map[client.Status]string{
	client.Running: "Works", client.Waiting: "Waits", client.Held: "Stopped; a message lets it go on", client.Completed: "Completed",
	client.Failed: "Failed", client.Cancelled: "Cancelled", client.Terminated: "Terminated", client.TimedOut: "Timed out",
}

func statusOf(s client.Snapshot) status {
	v := status{
		Status: string(s.Status), Text: statusTexts[s.WaitsFor], Ended: s.Status.Ended(), Closed: s.Status == client.Completed,
		Problem: printable.Text(s.Failure),
	}
	if v.Text == "" || s.Status == client.Held {
		v.Text = endTexts[s.Status]
	}
	if s.Status == client.Waiting && s.WaitsFor == client.WaitsForMessage {
		v.Status = "idle"
	}
	if s.Stopped != "" {
		v.Problem = "The last turn was stopped by the limit " + printable.Name(s.Stopped) + "."
	}
	if s.Spent != nil {
		v.Usage = plural.Of(s.Usage.ModelCalls, "model call") + ", " + plural.Of(s.Usage.ToolCalls, "tool call") + ", " + spending(*s.Spent)
	}
	return v
}

// progressStatus returns the status at a time of the live view.
func progressStatus(p client.Progress) status {
	if p.Snapshot == nil {
		return status{}
	}
	s := *p.Snapshot
	s.Status, s.WaitsFor = p.Status, p.WaitsFor
	v := statusOf(s)
	if p.LoadsDefinition {
		v.Text = "Loads its definition"
	}
	if r := p.Retry; r != nil {
		v.Problem = fmt.Sprintf("Tries again (attempt %d): %s", r.Attempt, printable.Line(r.Message, 500))
	}
	return v
}
