package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/plural"
)

// This file has the texts that the core writes into a transcript. They are sent to the model. Therefore they are part of later keys. Like
// a key formula, a text never changes within a key version. If a text differs between key versions, its function is called with the
// agent's key version: see CONTRIBUTING.md.

const textNoOutput = "(no output)"

func textUnknownTool(name string, known []string) string {
	if len(known) == 0 {
		return fmt.Sprintf("error: there is no tool %q; this agent has no tools", name)
	}
	return fmt.Sprintf("error: there is no tool %q; the tools are: %s", name, strings.Join(known, ", "))
}

func textBadArguments(name string) string {
	return fmt.Sprintf("error: the arguments for %s are not a JSON object; the call was not run", name)
}

func textBadTask(name, problem string) string {
	return fmt.Sprintf("error: the arguments for the agent %s do not fit: %s", name, problem)
}

func textDepth(limit int) string {
	return fmt.Sprintf("error: not run: this agent is %s deep, the limit for sub-agents (limits.depth)", plural.Of(limit, "level"))
}

func textTooManyCalls(asked, limit int) string {
	return fmt.Sprintf("error: not run: the reply asked for %s, and the limit for one reply is %d (limits.calls_per_reply); the first %d were run. "+
		"Ask for the others in your next replies", plural.Of(asked, "tool call"), limit, limit)
}

func textTooManyAgents(limit int) string {
	return fmt.Sprintf("error: not run: %d agents that this agent started have not ended, which is the limit; wait for one of them", limit)
}

// textNoBudget does not say how much is left: that depends on the order in which sub-agents report what they spent.
func textNoBudget(reply, limit string) string {
	return fmt.Sprintf("error: not run: one reply may take %s, and this agent would get no more than that (%s). "+
		"Ask for fewer agents at a time, wait for those that work, or go on without", reply, limit)
}

func textLongID(bytes, limit int) string {
	return fmt.Sprintf("error: not run: the ID of the sub-agent would have %d bytes, and Temporal's limit is %d: "+
		"the root agent has to be started with a shorter ID", bytes, limit)
}

// textRefused takes the place of a text that a guardrail or a person has refused.
func textRefused(kind TextKind, v GivenVerdict) string {
	text := fmt.Sprintf("The %s was refused by the guardrail %s", kind, v.Guardrail)
	if v.Decider != nil {
		text = fmt.Sprintf("The %s was refused by a person, whom the guardrail %s had asked", kind, v.Guardrail)
	}
	if v.Reason == "" {
		return text + "."
	}
	return text + ": " + v.Reason
}

func textNotRun(why string) string { return "not run: " + why }

// textUnknown follows the reason why a call that may have done its work has no result.
const textUnknown = "; outcome unknown — check before you retry"

func textStopped(why string) string {
	return "no result: " + why + textUnknown
}

func textChildWorksOn(why, handle string) string {
	return fmt.Sprintf("no result yet: %s; the agent works on. To wait for it again, call it with {\"continue\": %q}", why, handle)
}

func textDenied(reason string) string {
	if reason == "" {
		return "denied: a person refused this call"
	}
	return "denied: a person refused this call: " + reason
}

func textNoDecision(limitMS int64) string {
	return "denied: nobody decided on this call within " + duration(limitMS)
}

func textNoGivenResult(limitMS int64) string {
	return "error: no result came from outside within " + duration(limitMS)
}

func textNoHandedResult(limitMS int64) string { return textNoGivenResult(limitMS) + textUnknown }

func textBadQuestion(problem string) string {
	return "error: the question was not asked: " + problem
}

func textToolAsks(tool, question string) string {
	return "the tool " + tool + " asks: " + question
}

func textTooManyQuestions(limit int) string {
	return fmt.Sprintf("error: the tool has asked the person %d questions, which is the limit for one call", limit)
}

// textEdited stands before the result of a call.
func textEdited(arguments string) string {
	return "A person changed the arguments of this call to " + arguments + ". The result:\n\n"
}

func textBackground(handle string) string {
	return fmt.Sprintf("started: the agent works in the background under the handle %q. Go on with your work: its result comes later, as a message", handle)
}

// textBackgroundResult stands before the result of a sub-agent.
func textBackgroundResult(tool, callID string) string {
	return fmt.Sprintf("The agent of call %s of %s, which worked in the background, has its result now:\n\n", callID, tool)
}

func textTooManyInBackground(limit int) string {
	return fmt.Sprintf("error: not run: at most %d agents may work in the background (limits.background); wait for one of them", limit)
}

const (
	textBadAgents = "error: give {} to list the agents, {\"stop\": …} with a handle to stop one, or {\"to\": …, \"message\": …} to send one a message"
	textNoAgents  = "no agent works in the background"
)

func textNoBackground(handle string) string {
	return fmt.Sprintf("error: no agent with the handle %q works in the background", handle)
}

func textStoppedAgent(handle string) string {
	return fmt.Sprintf("the agent with the handle %q is being stopped; it gives no result", handle)
}

func textAgentLine(c Child) string {
	return fmt.Sprintf("%s %s: %s", c.Key.Handle(), c.Agent, clip.Text(c.Task, 200))
}

func textAside(question string, open []Call) string {
	now := "Nothing is running."
	if len(open) > 0 {
		var lines []string
		for _, c := range open {
			lines = append(lines, fmt.Sprintf("- %s %s", c.Name, clip.Text(c.Arguments, 500)))
		}
		now = "These calls have no result yet:\n" + strings.Join(lines, "\n")
	}
	return "A person asks you aside, while you work. Answer from this conversation, briefly, and call no tool. " +
		"The question and your answer do not become part of the conversation.\n\n" + now + "\n\nThe question: " + question
}

// textLate stands before a late result.
func textLate(tool, callID string) string {
	return fmt.Sprintf("The call %s of %s, which had no result, has its result now:\n\n", callID, tool)
}

func textLimit(why string) string {
	return "I stopped here: " + why + ". What I have done so far stands above."
}

func textModelCalls(limit int) string {
	return fmt.Sprintf("this turn reached its limit of %s (limits.model_calls)", plural.Of(limit, "model call"))
}

func textTokens(limit int) string {
	return fmt.Sprintf("this agent reached its limit of %s (limits.tokens)", plural.Of(limit, "token"))
}

func textCost(limit Money) string {
	return fmt.Sprintf("this agent reached its limit of %s (limits.cost)", limit)
}

// textMessageLimit names a limit on the tokens or the cost of one turn.
func textMessageLimit(limit, name string) string {
	return fmt.Sprintf("this turn reached its limit of %s, which its message had set (limits.%s)", limit, name)
}

func textOverridesRefused(why string) string {
	return "I have not begun this turn, because its overrides do not hold: " + why
}

func textInvalid(problem string) string {
	return "Your answer does not fit the JSON schema that was asked for: " + problem + ". Answer again, with the JSON only."
}

func textTime(limit time.Duration) string {
	return fmt.Sprintf("this turn reached its time limit of %s (limits.time)", duration(limit.Milliseconds()))
}

const textCompact = "The conversation grows too long and is about to be cut. Write a summary that replaces all of it up to here: " +
	"what the user wants, what was found out and decided, with names, numbers and identifiers as they are, what was done, and what is still open. " +
	"Write the summary only."

const textCancelled = "the agent was cancelled"

func textSummary(summary string) string {
	return "Summary of the earlier part of this conversation, which is left out:\n\n" + summary
}

// duration returns a time in milliseconds as text, such as "15 minutes". The unit is the largest of hours, minutes
// and seconds that gives a whole number. If there is none, the unit is milliseconds.
func duration(ms int64) string {
	switch {
	case ms%3_600_000 == 0:
		return plural.Of(int(ms/3_600_000), "hour")
	case ms%60_000 == 0:
		return plural.Of(int(ms/60_000), "minute")
	case ms%1000 == 0:
		return plural.Of(int(ms/1000), "second")
	default:
		return fmt.Sprintf("%d ms", ms)
	}
}

// ReadResult is the name of a tool. With this tool, a model reads those parts of a long result that the transcript
// leaves out.
const ReadResult = "read_result"

// Handle returns a short name that a model can write: the first 8 digits of the key. A model uses this name to refer
// to the result of a call, or to a sub-agent.
func (k Key) Handle() string {
	_, digits, _ := strings.Cut(string(k), "-")
	return digits[:min(8, len(digits))]
}

// TextLeftOut returns the note that stands in a tool result in place of a part that was left out. The note tells the
// model how to read this part. The parameter `call` is the key of the call. In the whole result, the part begins at
// the byte offset `from`, and has a length of `bytes` bytes.
func TextLeftOut(call Key, from, bytes int) string {
	return fmt.Sprintf("[%d bytes left out; %s with {\"handle\": %q, \"offset\": %d} shows them]", bytes, ReadResult, call.Handle(), from)
}

// outcomeUnknown returns the result of a call that may have done its work. The parameter `why` is the reason, as a text for the model.
func outcomeUnknown(why string, now int64) Result {
	return Result{Content: textStopped(why), Kind: OutcomeUnknown, Time: now}
}

// ToolLost returns the result of a call whose tool may or may not have done its work, for example because the worker
// stopped while the tool ran. The result tells the model that the outcome is unknown.
func ToolLost(now int64) Result {
	return outcomeUnknown("the worker stopped while the tool ran", now)
}

// TextOutcomeUnknown returns the content of the result of a call that the tool may or may not have carried out, if the worker knows why,
// for example because an MCP server did not answer in time. The parameter `why` is the reason.
func TextOutcomeUnknown(why string) string { return textStopped(why) }

// ToolFailed returns the result of a call that could not be run. The parameter `tool` is the name of the tool. The
// parameter `why` is the reason, as a text for the model.
func ToolFailed(tool, why string, now int64) Result {
	return Result{Content: fmt.Sprintf("error: %s could not be run: %s", tool, why), Kind: Errored, Time: now}
}

// toolRemoved returns the result of an open call whose tool the agent has lost: the agent has read its definition again, and the new
// definition lacks the tool. If the call waits for a person's approval, the result says that it was not run. For any other call, the
// result says that the outcome is unknown.
func toolRemoved(c Call, now int64) Result {
	if c.asksApproval() {
		return ToolFailed(c.Name, "it is no longer among the agent's tools", now)
	}
	return outcomeUnknown("the agent stopped before "+c.Name+" had a result, and "+c.Name+" is no longer among its tools", now)
}

// ChildOverdue returns the event that ends the wait for a sub-agent that has not answered in time. The parameter
// `budgetMS` is the time limit of the call, in milliseconds: see [Tool].BudgetMS.
func ChildOverdue(child Key, budgetMS, now int64) Event {
	return ChildGivenUp{Key: child, Why: "no answer within " + duration(budgetMS), Time: now}
}

// ChildIdle returns the event that ends the wait for a sub-agent in which nothing happens. For [ChildIdleMS]
// milliseconds, neither the sub-agent nor an agent below it has had an event.
func ChildIdle(child Key, now int64) Event {
	return ChildGivenUp{Key: child, Why: "no progress for " + duration(ChildIdleMS), Time: now}
}

// ChildAnswered returns the result of a call whose sub-agent has answered.
func ChildAnswered(answer string, now int64) Result {
	return Result{Content: answer, Time: now}
}

// ChildFailed returns the result of a call whose sub-agent has ended without an answer. The parameter `name` is the
// name of the sub-agent. The parameter `why` is the reason, as a text for the model.
func ChildFailed(name, why string, now int64) Result {
	return Result{Content: fmt.Sprintf("error: the agent %s ended without an answer: %s", name, why), Kind: NoAnswer, Time: now}
}
