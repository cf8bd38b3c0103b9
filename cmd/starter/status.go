package main

import "github.com/reagent-dev/reagent/client"

// statusTexts are the predicates of sentences about an agent with the given status.
var statusTexts = map[client.Status]string{
	client.Running: "is running", client.Waiting: "waits for a message", client.Held: "is held", client.Completed: "has completed",
	client.Failed: "failed", client.Cancelled: "was cancelled", client.Terminated: "was terminated", client.TimedOut: "ran out of time",
}

// statusText returns the end of a sentence that begins with an agent, such as "failed" or "was terminated".
func statusText(status client.Status) string {
	if text, ok := statusTexts[status]; ok {
		return text
	}
	return "is " + string(status)
}
