package session

import (
	"strings"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/internal/hint"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
	"github.com/reagent-dev/reagent/llm"
)

// maxNext is the largest number of calls for which [Next] has commands of their own.
const maxNext = 5

// Next returns what a person can do next about an agent, in lines with the commands, as the details in the Web UI do.
func Next(s client.Snapshot) string {
	var lines []string
	for _, c := range s.Pending {
		switch {
		case !c.Waits():
		case len(lines) == maxNext:
			return strings.Join(append(lines, "Next: see all that waits with `starter inbox`"), "\n")
		default:
			lines = append(lines, "Next: "+commandsText(hint.Starter{}.Settle(s.ID, c.Key, c.WaitsFor())))
		}
	}
	if len(lines) > 0 {
		return strings.Join(lines, "\n")
	}
	switch {
	case s.WaitsFor == client.WaitsForSubAgents: // a snapshot has the calls of its own agent only
		return "Next: the sub-agents; `starter inbox` shows whether one of their calls waits for you"
	case s.Status == client.Held:
		return "Next: " + GoOn(s).String()
	case s.Status == client.Waiting:
		return "Next: " + commandsText([]string{shellword.Starter("send", s.ID).Then("TEXT").String(), shellword.Starter("chat", s.ID).String()})
	case s.Status == client.Completed:
		return "Next: nobody has to act; `" + shellword.Starter("fork", s.ID).With("--message TEXT").String() + "` goes on from the answer in a new agent"
	case s.Status.Ended():
		return "Next: " + GoOn(s).String()
	}
	return "Next: nobody has to act; `" + shellword.Starter("tail", s.ID).String() + "` follows the agent"
}

func commandsText(commands []string) string { return "`" + strings.Join(commands, "` or `") + "`" }

// GoOn returns the part of a sentence that tells a person how an agent goes on that is held or has ended without an answer: what to mend, and
// the command.
func GoOn(snap client.Snapshot) exit.Advice {
	again := exit.Advisef("go on with `%s`", shellword.Starter("resume", snap.ID).With("--reload"))
	if snap.Status == client.Held {
		again = exit.Advisef("go on with `%s`", shellword.Starter("send", snap.ID).Then("TEXT"))
	}
	if snap.Class == agent.Interrupted {
		return again
	}
	switch llm.Class(snap.Class) {
	case llm.NotFound:
		return exit.Advisef("check model and base_url in the worker's configuration, restart the worker, then %s", again)
	case llm.Unauthorized:
		return exit.Advisef("check the API key in the worker's environment, under the name in api_key_env, restart the worker, then %s", again)
	case llm.QuotaExceeded:
		return exit.Advisef("check the plan and the billing of the API key, then %s", again)
	case llm.Connection, llm.Overloaded, llm.ServerError, llm.RateLimited:
		return exit.Advisef("check that base_url in the worker's configuration answers, then %s", again)
	}
	if snap.Class == protocol.UnknownAgent {
		return exit.Advisef("add the agent to the worker's configuration, or name another agent with -a")
	}
	if snap.Class == agent.MessageRefused { // a resume would find the same message
		return exit.Advisef("start a new agent with another message: `%s`", shellword.Starter("run").With("-a "+shellword.Quote(snap.Agent)).Then("TEXT"))
	}
	if snap.Status == client.Held {
		return exit.Advisef("remove the cause of the failure, then %s", again)
	}
	return GoOnFrom(snap.ID, snap.Status)
}
