package protocol

import (
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/llm"
)

// This file converts the end of an activity or of a sub-agent into an event of the agent. The driver applies the event.

// DefaultResultBytes is the size in bytes to which a tool result is cut if the agent's definition sets no size.
const DefaultResultBytes = 64 << 10

// ModelResult is the result of the activity [CallModel]: the model's reply, and how the activity got it.
type ModelResult struct {
	llm.Reply
	// Empty counts the empty replies to the same request before this reply.
	Empty agent.EmptyReplies `json:"empty,omitzero"`
	// Repeats counts the failed and lost attempts before this reply.
	Repeats agent.Repeats `json:"repeats,omitzero"`
	// Invalid says why the answer does not fit the output schema; empty if it fits or there is no schema.
	Invalid string `json:"invalid,omitempty"`
	// Recalled says that the reply comes from the history of an earlier run.
	Recalled bool `json:"recalled,omitempty"`
	// NewIn is set if no earlier run has the reply. It is the end of the ID of the run that searched all its earlier
	// runs: see [RunSuffix]. It is empty if there was no search, or if the history of an earlier run no longer
	// exists. NewIn names the run because a reset copies this result into the history of a new run. The new run has
	// more earlier runs, and NewIn does not say whether one of those has the reply.
	NewIn string `json:"new_in,omitempty"`
}

// ToolResult is the result of the activity [CallTool].
type ToolResult struct {
	Content string `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
	// Lost says that the outcome of the call is unknown: the tool may have run, and its result is lost.
	Lost bool `json:"lost,omitempty"`
	// Recalled says that the result comes from the history of an earlier run.
	Recalled bool `json:"recalled,omitempty"`
}

// OmitDefaults returns a copy of the reply for the history, without fields that are easy to fill in again. It always omits the
// role. It omits the name of the model that replied if this model is the first candidate of the request (first). It omits the
// finish reason if the finish reason follows from the message.
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

// AgentEnd describes the end of an agent: its answer, or the reason why there is none. The JSON of a [Result] can be
// read as an AgentEnd.
type AgentEnd struct {
	Answer string `json:"answer,omitempty"`
	// Stopped names the limit that ended the last turn early; empty if there was none.
	Stopped string `json:"stopped,omitempty"`
	// Failure says why there is no answer; empty if there is one.
	Failure string `json:"failure,omitempty"`
	// Spent counts the tokens and the cost of the agent and its sub-agents; nil if unknown.
	Spent *agent.Spending `json:"spent,omitempty"`
}

// ChildEnd is what a resumed sub-agent sends to its parent when it has ended: see [ChildEndSignal]. Key is the key of
// the sub-agent.
type ChildEnd struct {
	Key agent.Key `json:"key"`
	AgentEnd
}

// RecalledCall is the result of the activity [RecallCall]. It contains what earlier runs of the agent have recorded
// about a call for a sub-agent.
type RecalledCall struct {
	agent.Recalled
	// Run is the end of the ID of the run that searched its earlier runs: see [RunSuffix]. A reset may copy this
	// result into the history of a new run. The new run has more earlier runs, and may have to search again.
	Run string `json:"run"`
}

// AgentProgress is the result of the activity [LookAgent]. IdleMS is the number of milliseconds since the last event
// in a sub-agent or in a running agent below it. It is 0 for a sub-agent that has ended.
type AgentProgress struct {
	IdleMS int64 `json:"idle_ms"`
}

// LoadEvent returns the event by which an agent learns that its activity [LoadAgent] with the given key has ended. The activity
// returned the definition d or the error err.
func LoadEvent(key agent.Key, d agent.Definition, err error) agent.Event {
	if err != nil {
		class, message := cause(err)
		return agent.DefinitionFailed{Key: key, Class: class, Message: message}
	}
	return agent.DefinitionLoaded{Key: key, Definition: d, MayHaveRun: true}
}

// ModelEvent returns the event by which an agent learns that its model call with the given key has ended. The activity
// [CallModel] returned the result r or the error err. ModelEvent returns nil if the call was cancelled. The current time (now) is
// in Unix milliseconds.
func ModelEvent(key agent.Key, r ModelResult, err error, now int64) agent.Event {
	switch {
	case temporal.IsCanceledError(err):
		return nil
	case err != nil:
		class, message := cause(err)
		return agent.ModelFailed{Key: key, Class: class, Message: message, Empty: emptyReplies(err), Time: now}
	}
	return agent.ModelReplied{Key: key, Reply: r.Reply, Empty: r.Empty, Repeats: r.Repeats, Invalid: r.Invalid, Recalled: r.Recalled, Time: now}
}

// ToolEvent returns the event by which an agent learns that its tool call with the given key has ended. The activity [CallTool]
// returned the result r or the error err. If the activity was cancelled, ToolEvent returns nil: an agent cancels the activity
// only after it has given the call another result.
//
// An error is described with the name of the tool. The transcript cuts the result to a given size in bytes (limit). The current
// time (now) is in Unix milliseconds.
func ToolEvent(key agent.Key, name string, r ToolResult, err error, limit int, now int64) agent.Event {
	var timeout *temporal.TimeoutError
	switch {
	case temporal.IsCanceledError(err):
		return nil
	case errors.As(err, &timeout), err == nil && r.Lost:
		return agent.ToolFinished{Key: key, Result: agent.ToolLost(now)}
	case err != nil:
		_, message := cause(err)
		return agent.ToolFinished{Key: key, Result: agent.ToolFailed(name, message, now)}
	}
	return agent.ToolFinished{Key: key, Recalled: r.Recalled, Result: agent.Result{Content: shown(key, r.Content, limit), IsError: r.IsError, Time: now}}
}

// ChildEvent returns the event by which an agent learns that its sub-agent has ended. If err is nil, the given [AgentEnd]
// describes the end. Otherwise, err is the error with which the sub-agent ended. The event also says whether the agent has only
// waited for the sub-agent, because the sub-agent's workflow already existed (reattached). The answer is cut to a given size in
// bytes (limit). The current time (now) is in Unix milliseconds.
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

// EndedFromOutside reports whether the error err says that a sub-agent was terminated or cancelled, or that its run
// timed out. A person or program may resume such a sub-agent a moment later. So the parent waits for a moment before
// it accepts the end.
func EndedFromOutside(err error) bool {
	var timeout *temporal.TimeoutError
	var terminated *temporal.TerminatedError
	return errors.As(err, &timeout) || errors.As(err, &terminated) || temporal.IsCanceledError(err)
}

// Spent returns the tokens and the cost of an agent that ended with the error err. It reads them from the details of
// the error, and returns nil if the details do not contain them.
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

// shown returns the part of a tool result that the transcript shows. If the whole result (content) has more bytes than the
// transcript shows (limit), the function replaces the middle of it with a note. The note tells the model how to read the rest,
// with the key of the call.
func shown(key agent.Key, content string, limit int) string {
	return clip.MiddleNoting(content, ShownBytes(limit), func(from, bytes int) string { return agent.TextLeftOut(key, from, bytes) })
}

// EndText returns a short text that says how an agent ended without an answer, such as "it was terminated". The agent ended with
// the error err. The transcript of the agent's parent contains the text.
func EndText(err error) string {
	var (
		failed     *temporal.ApplicationError
		timeout    *temporal.TimeoutError
		terminated *temporal.TerminatedError
		cancelled  *temporal.CanceledError
	)
	switch {
	case errors.As(err, &terminated):
		return "it was terminated"
	case errors.As(err, &timeout):
		return "it ran out of time"
	case errors.As(err, &cancelled):
		return "it was cancelled"
	case errors.As(err, &failed):
		return failed.Message()
	default:
		return "it failed"
	}
}

// IdleEvent returns the event that ends the wait for an idle sub-agent, and nil for a sub-agent that is not idle. A sub-agent is
// idle if nothing has happened in it, or in an agent below it, for [agent.ChildIdleMS]. The progress p says how long nothing has
// happened. If the progress could not be read, err is not nil, and IdleEvent returns nil. The current time (now) is in Unix
// milliseconds.
func IdleEvent(child agent.Key, p AgentProgress, err error, now int64) agent.Event {
	if err != nil || p.IdleMS < agent.ChildIdleMS {
		return nil
	}
	return agent.ChildIdle(child, now)
}

// emptyReplies returns how many empty replies a model call got before its activity failed with the error err. It
// reads this from the details of the error, and returns the zero value if the details have none.
func emptyReplies(err error) agent.EmptyReplies {
	var empty agent.EmptyReplies
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.HasDetails() {
		_ = app.Details(&empty) // it is only a count; details of another type leave it at zero
	}
	return empty
}

// cause returns why an activity ended with the error err. It returns the type of the failure (class), such as [UnknownAgent] or
// "Timeout", and the text of the failure (message).
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

// TimeoutText returns a text that says why Temporal timed out an attempt of an activity, for a timeout of the given kind. If the
// heartbeats stopped, the text names two possible causes, because Temporal cannot tell them apart: the worker died, or it could
// not reach Temporal.
func TimeoutText(kind enumspb.TimeoutType) string {
	if kind == enumspb.TIMEOUT_TYPE_HEARTBEAT {
		return "the worker sent no more heartbeats: it died, or it could not reach Temporal"
	}
	return "the call took longer than its time limit"
}
