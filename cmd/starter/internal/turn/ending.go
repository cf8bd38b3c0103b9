package turn

import (
	"cmp"
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/view"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/shellword"
)

// answered reports whether the agent has completed or waits for the user. The agent's last turn has then ended with an answer,
// which may be a notice that the agent has reached a limit. There is one exception: an agent whose calls wait for somebody
// outside counts as answered, but has no answer yet.
func answered(end client.Snapshot) bool {
	// An agent that is running has answered, and works on a later message: see [client.Client.Reply].
	return end.Status == client.Completed || end.Status == client.Waiting || end.Status == client.Running
}

// Verdict returns the error with which a command ends after it has waited for an agent, whose last turn has ended as the snapshot says; nil
// means that the turn ended with a complete answer. The error has the code
//   - [exit.Refused] if the message or the answer was refused
//   - [exit.AgentFailed] if the agent is held, or has ended without an answer
//   - [exit.Limit] if a limit ended the turn, or cut the answer
//   - [exit.Asked] if calls wait for somebody outside, and the command does not wait for them
func Verdict(end client.Snapshot) error {
	switch {
	case end.Refusal != nil:
		return exit.Errorf(exit.Refused, "agent %s has not answered: %s; %s", end.ID, refusalText(*end.Refusal), pastRefusal(end))
	case len(end.Waiting) > 0:
		return exit.Errorf(exit.Asked, "agent %s has no answer yet: %s; then follow the agent with `%s`",
			end.ID, settling(end.Waiting), shellword.Starter("tail", end.ID))
	case !answered(end):
		return exit.Errorf(exit.AgentFailed, "agent %s %s: %s; %s", end.ID, StatusText(end.Status), printable.Text(end.Failure), session.GoOn(end))
	case end.Stopped != "":
		return exit.Errorf(exit.Limit, "agent %s was stopped before its answer by %s; %s", end.ID, view.LimitText(end), pastLimit(end))
	case end.FinishReason != "":
		return exit.Errorf(exit.Limit, "the answer of agent %s may not be whole: the model ended it with the finish reason %s; raise max_output_tokens of the model, or ask the agent to go on",
			end.ID, printable.Name(end.FinishReason))
	}
	return nil
}

// refusalText says who refused which text, and why, such as "the guardrail tone refused the message: rude".
func refusalText(r agent.RefusedText) string {
	text := "the guardrail " + printable.Name(r.Guardrail)
	if r.Decider != nil {
		text = "a person, whom " + text + " had asked,"
	}
	text += " refused the " + string(r.Kind)
	if r.Reason != "" {
		text += ": " + printable.Text(r.Reason)
	}
	return text
}

func pastRefusal(end client.Snapshot) exit.Advice {
	switch {
	case end.Status == client.Completed:
		return exit.Advisef("ask again in a new agent with `%s`", shellword.Starter("fork", end.ID).With("--message TEXT"))
	case end.Status.Ended():
		return session.GoOn(end)
	}
	return exit.Advisef("send another message with `%s`", shellword.Starter("send", end.ID).Then("TEXT"))
}

// maxNamed is the largest number of calls that wait for which an error has commands of their own.
const maxNamed = 5

// settling says which calls wait, and with which commands a person settles them.
func settling(waiting []client.Waits) exit.Advice {
	if len(waiting) > maxNamed {
		return exit.Advisef("%d calls wait; see them with `%s`", len(waiting), shellword.Starter("inbox"))
	}
	var all []any
	for i, w := range waiting {
		settle := shellword.Starter("complete", w.AgentID).With("--call " + w.Handle()).Then("TEXT")
		one := exit.Advisef("%s waits for a result: `%s`", printable.Name(w.Call.Name), settle)
		switch w.Call.WaitsFor() {
		case client.WaitsForApproval:
			one = exit.Advisef("%s waits for an approval: `%s` or `%s`", printable.Name(w.Call.Name),
				shellword.Starter("approve", w.AgentID, w.Handle()), shellword.Starter("deny", w.AgentID, w.Handle()))
		case client.WaitsForAnswer:
			one = exit.Advisef("%s waits for an answer: `%s`", printable.Name(w.Call.Name),
				shellword.Starter("answer", w.AgentID).With("--call "+w.Handle()).Then("TEXT"))
		}
		if i > 0 {
			all = append(all, "; ")
		}
		all = append(all, one)
	}
	return exit.Advisef(strings.Repeat("%s", len(all)), all...)
}

// pastLimit tells a person how an agent goes on whose turn has reached a limit. A fork has used nothing yet.
func pastLimit(end client.Snapshot) exit.Advice {
	send := shellword.Starter("send", end.ID).Then("TEXT")
	switch {
	case end.Status == client.Completed:
		return exit.Advisef("the limit starts again with the next message: go on with `%s`", shellword.Starter("fork", end.ID).With("--message TEXT"))
	case end.Stopped == "model_calls" || end.Stopped == "time" || end.Limit.Of == agent.LimitOfMessage:
		return exit.Advisef("the limit starts again with the next message: go on with `%s`", send)
	case end.Limit.Of == agent.LimitOfStart:
		return exit.Advisef("it holds for the whole agent: go on in a new one with `%s`", shellword.Starter("fork", end.ID).With("--message TEXT"))
	case end.Limit.Of == agent.LimitOfParent:
		return exit.Advisef("it holds for the whole agent: raise limits.%s of the agent that has started it", end.Stopped)
	}
	return exit.Advisef("raise limits.%s, restart the worker, then `%s`, and go on with `%s`", end.Stopped, shellword.Starter("reload", end.ID), send)
}

// statusTexts maps a status to the end of a sentence about an agent, such as "failed" after "agent x".
var statusTexts = map[client.Status]string{
	client.Running: "is running", client.Waiting: "waits for a message", client.Held: "is held", client.Completed: "has completed",
	client.Failed: "failed", client.Cancelled: "was cancelled", client.Terminated: "was terminated", client.TimedOut: "ran out of time",
}

// StatusText returns the end of a sentence about an agent with the given status, such as "failed" or "was terminated".
func StatusText(status client.Status) string {
	return cmp.Or(statusTexts[status], "is "+string(status))
}
