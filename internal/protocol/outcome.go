package protocol

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
)

// This file converts the end of an activity or of a sub-agent into an event of the agent. The driver applies the event.

// DefaultResultBytes is the size in bytes to which a tool result is cut if the agent's definition does not set this size.
const DefaultResultBytes = 64 << 10

// ModelResult is the result of the activity [CallModel]: the model's reply, and how the activity got this reply.
type ModelResult struct {
	llm.Reply
	// Empty counts the empty replies to the same request before this reply.
	Empty agent.EmptyReplies `json:"empty,omitzero"`
	// Repeats counts the failed and lost attempts before this reply.
	Repeats agent.Repeats `json:"repeats,omitzero"`
	// Invalid says why the answer does not fit the output schema. It is empty if the answer fits or if there is no schema.
	Invalid string `json:"invalid,omitempty"`
	// Free are the calls that need no approval by the rules of their tools.
	Free []agent.FreeCall `json:"free,omitempty"`
	// Recalled says that the reply comes from the history of an earlier run.
	Recalled bool `json:"recalled,omitempty"`
	// NewIn says that the reply is new: a run searched all its earlier runs and did not find the reply. NewIn is the end of
	// the ID of that run: see [RunSuffix]. It is empty if there was no search, or if the history of an earlier run no longer
	// exists. A reset may copy this result into the history of another run, which has more earlier runs. For that run, NewIn
	// does not say that the reply is new.
	NewIn string `json:"new_in,omitempty"`
}

// ToolResult is the result of the activity [CallTool], which makes one tool call.
type ToolResult struct {
	// Content is the text of the result.
	Content string `json:"content"`
	// Kind says what the result is. If it is [agent.OutcomeUnknown] and Content is empty, a worker stopped while the tool may have run.
	Kind agent.ResultKind `json:"kind,omitempty"`
	// Elicitation is the question of the tool to a person. If it is not nil, the call has no result yet: see [agent.Elicitation].
	Elicitation *agent.Elicitation `json:"elicitation,omitempty"`
	// Recalled says that the result comes from the history of an earlier run.
	Recalled bool `json:"recalled,omitempty"`
	// Told is what an earlier run told the model, although the call had no result there. It is nil for all other results.
	Told *agent.Result `json:"told,omitempty"`
}

// CheckedText is the result of the activity [CheckText]: the verdict of a guardrail.
type CheckedText struct {
	agent.Verdict
	// Recalled says that the verdict comes from the history of an earlier run.
	Recalled bool `json:"recalled,omitempty"`
}

// TextEvent returns the event that tells an agent that a guardrail has judged a text. The activity [CheckText] returned the result r or the
// error `err`. The key is the ID of the activity. After an error, a person decides. The current time is `now`, in Unix milliseconds. If the
// activity was cancelled, TextEvent returns nil.
func TextEvent(key agent.Key, r CheckedText, err error, now int64) agent.Event {
	e := agent.TextChecked{Key: key, Verdict: r.Verdict, Recalled: r.Recalled, Time: now}
	switch {
	case temporal.IsCanceledError(err):
		return nil
	case err != nil:
		_, message := cause(err)
		e.Verdict = Unjudged(message)
	case r.Check() != nil:
		e.Verdict = Unjudged(r.Check().Error())
	}
	return e
}

// Unjudged is the verdict of a guardrail that has failed: a person decides.
func Unjudged(problem string) agent.Verdict {
	return agent.Verdict{Action: agent.TextAsks, Reason: clip.Text("the guardrail gave no verdict: "+problem, 2000)}
}

// LostTool is the result of a call if a worker stopped while the tool may have run.
func LostTool() ToolResult { return ToolResult{Kind: agent.OutcomeUnknown} }

// Lost reports whether r is [LostTool].
func (r ToolResult) Lost() bool { return r.Kind == agent.OutcomeUnknown && r.Content == "" }

// OmitDefaults makes a model reply smaller for the history. It returns a copy of the reply without the values that can be
// filled in again:
//   - The role is always omitted.
//   - The name of the model that replied is omitted if this model is `first`, the first model to which the request could go.
//   - The finish reason is omitted if it follows from the message.
func OmitDefaults(reply llm.Reply, first llm.Candidate) llm.Reply {
	reply.Message.Role = ""
	if reply.Candidate == first.Name {
		reply.Candidate = ""
	}
	calls := len(reply.Message.ToolCalls) > 0
	if calls && reply.FinishReason == "tool_calls" || !calls && reply.FinishReason == "stop" {
		reply.FinishReason = ""
	}
	return reply
}

// AgentEnd describes the end of an agent: its answer, or the reason why there is no answer. The JSON of a [Result] can also
// be decoded into an AgentEnd.
type AgentEnd struct {
	// Answer is the agent's last answer; empty if the agent failed.
	Answer string `json:"answer,omitempty"`
	// FinishReason is the provider's finish reason if the provider may have cut the answer. For example, "length" means that the answer
	// reached the model's output limit. It is empty for a whole answer.
	FinishReason string `json:"finish_reason,omitempty"`
	// Stopped names the limit that ended the last turn early. It is empty if no limit ended the turn.
	Stopped string `json:"stopped,omitempty"`
	// Refusal says that the last message, or the answer to it, was refused; nil if not.
	Refusal *agent.RefusedText `json:"refusal,omitempty"`
	// Failure says why there is no answer. It is empty if there is an answer.
	Failure string `json:"failure,omitempty"`
	// Spent counts the tokens and the cost of the agent and its sub-agents. It is nil if they are unknown.
	Spent *agent.Spending `json:"spent,omitempty"`
}

// ChildEnd tells a parent how its sub-agent has ended. A sub-agent that was resumed sends it: see [ChildEndSignal].
type ChildEnd struct {
	// Key is the key of the sub-agent: see [agent.Key].
	Key agent.Key `json:"key"`
	AgentEnd
}

// MaxFailureBytes is the largest size of the field Failure of a [ChildEnd].
const MaxFailureBytes = 100_000

// Check returns an error if the failure is too large. The answer may have any size, because [ChildEvent] cuts it, and a parent takes
// nothing from the end of a sub-agent whose key it does not know.
func (e ChildEnd) Check() error {
	if len(e.Failure) > MaxFailureBytes {
		return fmt.Errorf("the failure of the sub-agent has %d bytes; the limit is %d: shorten the text", len(e.Failure), MaxFailureBytes)
	}
	return nil
}

// FoundCall is the result of the activity [FindCall]. It contains what earlier runs of the agent have recorded about one
// tool call. It has only the field Run if they have recorded nothing.
type FoundCall struct {
	agent.CallRecord
	// Run is the end of the ID of the run that made the search: see [RunSuffix]. A reset may copy this result into the
	// history of a new run. The new run has more earlier runs, and may have to search again.
	Run string `json:"run"`
}

// AgentProgress is the result of the activity [ReadProgress]: how long a sub-agent has been idle.
type AgentProgress struct {
	// IdleMS is the number of milliseconds since the last event in the sub-agent or in a running agent below it. It is 0 if
	// the sub-agent has ended.
	IdleMS int64 `json:"idle_ms"`
}

// OverridesEvent returns the event that tells an agent that the activity [ResolveOverrides] has ended. The activity returned d or the error
// `err`. The key is the ID of the activity. `now` is the current time, in Unix milliseconds.
func OverridesEvent(key agent.Key, d agent.TurnDefinition, err error, now int64) agent.Event {
	if err != nil {
		class, message := cause(err)
		return agent.OverridesRefused{Key: key, Class: class, Message: message, Time: now}
	}
	return agent.OverridesResolved{Key: key, Definition: d, Time: now}
}

// LoadEvent returns the event that tells an agent that the activity [LoadAgent] has ended. The activity returned the
// definition d or the error `err`. The key is the ID of the activity.
func LoadEvent(key agent.Key, d agent.Definition, err error) agent.Event {
	if err != nil {
		class, message := cause(err)
		return agent.DefinitionFailed{Key: key, Class: class, Message: message}
	}
	return agent.DefinitionLoaded{Key: key, Definition: d}
}

// ModelEvent returns the event that tells an agent that its model call has ended. The activity [CallModel] returned the
// result r or the error `err`. The key is the ID of the activity. The current time is `now`, in Unix milliseconds. If the call was
// cancelled, ModelEvent returns nil.
func ModelEvent(key agent.Key, r ModelResult, err error, now int64) agent.Event {
	switch {
	case temporal.IsCanceledError(err):
		return nil
	case err != nil:
		class, message := cause(err)
		return agent.ModelFailed{Key: key, Class: class, Message: message, Empty: emptyReplies(err), Time: now}
	}
	return agent.ModelReplied{Key: key, Reply: r.Reply, Empty: r.Empty, Repeats: r.Repeats, Invalid: r.Invalid, Free: r.Free, Recalled: r.Recalled, Time: now}
}

// ToolEvent returns the event that tells an agent that its tool call has ended, or that the tool asks a person. The activity
// [CallTool] returned the result r or the error `err`. The key is the ID of the activity. `name` is the name of the tool, for the
// text of an error.
//
// The event contains at most `limit` bytes of the result; 0 means [DefaultResultBytes]. The current time is `now`, in Unix
// milliseconds. If the activity was cancelled, ToolEvent returns nil. The call then has another result already.
func ToolEvent(key agent.Key, name string, r ToolResult, err error, limit int, now int64) agent.Event {
	app, _ := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case temporal.IsCanceledError(err):
		return nil
	case app != nil && app.Type() == OutOfTime: // an earlier attempt may have run the tool
		return agent.ToolFinished{Key: key, Result: agent.ToolLost(now)}
	case errors.As(err, new(*temporal.TimeoutError)), err == nil && r.Lost():
		return agent.ToolFinished{Key: key, Result: agent.ToolLost(now)}
	case err == nil && r.Told != nil:
		told := *r.Told
		told.Time = now
		return agent.ToolFinished{Key: key, Recalled: true, Result: told}
	case err != nil:
		_, message := cause(err)
		return agent.ToolFinished{Key: key, Result: agent.ToolFailed(name, message, now)}
	case r.Elicitation != nil:
		return agent.ToolFinished{Key: key, Recalled: r.Recalled, Elicitation: r.Elicitation, Result: agent.Result{Time: now}}
	}
	return agent.ToolFinished{Key: key, Recalled: r.Recalled, Result: agent.Result{Content: shown(key, r.Content, limit), Kind: r.Kind, Time: now}}
}

// ChildEvent returns the event that tells an agent that its sub-agent has ended. `end` describes the end, unless the sub-agent ended
// with the error `err`. `reattached` says that the agent did not start the sub-agent, but waited for one that existed already. The
// event contains at most `limit` bytes of the answer; 0 means [DefaultResultBytes]. The current time is `now`, in Unix milliseconds.
func ChildEvent(child agent.Child, end AgentEnd, err error, reattached bool, limit int, now int64) agent.ChildFinished {
	var result agent.Result
	switch {
	case err != nil:
		end.Spent = Spent(err)
		result = agent.ChildFailed(child.Agent, EndText(err), now)
	case end.Failure != "":
		result = agent.ChildFailed(child.Agent, end.Failure, now)
	default:
		result = agent.ChildAnswered(clip.Middle(end.Answer, ShownBytes(limit)), now)
	}
	return agent.ChildFinished{Key: child.Key, Result: result, Spent: end.Spent, Reattached: reattached}
}

// EndedFromOutside reports whether a sub-agent was terminated, was cancelled or timed out. `err` is the error with which it ended.
// The parent waits for a moment before it accepts such an end, because a person or a program may resume the sub-agent.
func EndedFromOutside(err error) bool {
	return errors.As(err, new(*temporal.TimeoutError)) || errors.As(err, new(*temporal.TerminatedError)) || temporal.IsCanceledError(err)
}

// Spent returns the tokens and the cost of an agent that ended with the error `err`. They are in the details of the error. If
// the details do not contain them, Spent returns nil.
func Spent(err error) *agent.Spending {
	var spent agent.Spending
	var details interface {
		HasDetails() bool
		Details(...any) error
	}
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		details = failed
	} else if cancelled, ok := errors.AsType[*temporal.CanceledError](err); ok {
		details = cancelled
	}
	if details == nil || !details.HasDetails() || details.Details(&spent) != nil {
		return nil
	}
	return &spent
}

// shown shortens a tool result to at most `limit` bytes, for the transcript. If the result is longer, shown replaces its
// middle with a note. The note tells the model how to read the middle, and contains the given key of the tool call.
func shown(key agent.Key, content string, limit int) string {
	return clip.MiddleNoting(content, ShownBytes(limit), func(from, bytes int) string { return agent.TextLeftOut(key, from, bytes) })
}

// EndText says in a few words how an agent ended without an answer, such as "it was terminated". `err` is the error with
// which the agent ended. The transcript of the agent's parent contains the text.
func EndText(err error) string {
	failed, _ := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case errors.As(err, new(*temporal.TerminatedError)):
		return "it was terminated"
	case errors.As(err, new(*temporal.TimeoutError)):
		return "it ran out of time"
	case errors.As(err, new(*temporal.CanceledError)):
		return "it was cancelled"
	case failed != nil:
		return failed.Message()
	}
	return "it failed"
}

// IdleEvent returns the event that ends the wait for an idle sub-agent. A sub-agent is idle if nothing has happened in it, or in an agent
// below it, for [agent.ChildIdleMS] milliseconds; `p` says for how long nothing has happened. IdleEvent returns nil if the sub-agent is not
// idle, or if `err` says that `p` could not be read. The current time is `now`, in Unix milliseconds.
func IdleEvent(child agent.Key, p AgentProgress, err error, now int64) agent.Event {
	if err != nil || p.IdleMS < agent.ChildIdleMS {
		return nil
	}
	return agent.ChildIdle(child, now)
}

// emptyReplies counts the empty replies that a model call got before its activity failed with the error `err`. The count is
// in the details of the error. If the details have no count, emptyReplies returns the zero value.
func emptyReplies(err error) agent.EmptyReplies {
	var empty agent.EmptyReplies
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.HasDetails() {
		_ = app.Details(&empty) // it is only a count; details of another type leave it at zero
	}
	return empty
}

// cause says why an activity ended with the error `err`. `class` is the type of an application error, such as [UnknownAgent]. It is
// "Timeout" for a timeout, and "Failed" for any other error. `message` is the text of the error.
func cause(err error) (class, message string) {
	var app *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &app):
		return app.Type(), app.Message()
	case errors.As(err, &timeout):
		return "Timeout", TimeoutText(timeout.TimeoutType())
	default:
		return "Failed", err.Error()
	}
}

// TimeoutText says why Temporal ended an attempt at an activity with a timeout of the given kind. If the heartbeats stopped,
// the text names two possible causes, which Temporal cannot tell apart: the worker died, or the worker could not reach
// Temporal.
func TimeoutText(kind enumspb.TimeoutType) string {
	if kind == enumspb.TIMEOUT_TYPE_HEARTBEAT {
		return "the worker sent no more heartbeats: it died, or it could not reach Temporal"
	}
	return "the call took longer than its time limit"
}
