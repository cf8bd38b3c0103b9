package main

import "github.com/reagent-dev/reagent/client"

// statusTexts maps a status to the end of a sentence about an agent, such as "failed" after "agent x".
var statusTexts = map[client.Status]string{
	client.Running: "is running", client.Waiting: "waits for a message", client.Held: "is held", client.Completed: "has completed",
	client.Failed: "failed", client.Cancelled: "was cancelled", client.Terminated: "was terminated", client.TimedOut: "ran out of time",
}

// statusText returns the end of a sentence about an agent with the given status, such as "failed" or "was terminated".
func statusText(status client.Status) string {
	if text, ok := statusTexts[status]; ok {
		return text
	}
	return "is " + string(status)
}
