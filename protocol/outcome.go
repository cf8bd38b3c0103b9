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

// DefaultResultBytes is the size to which a tool result is cut if the agent sets none.
const DefaultResultBytes = 64 << 10

// ModelResult is the result of the activity [CallModel].
type ModelResult struct {
	llm.Reply
	// Empty counts the empty replies to the same request before this reply.
	Empty agent.EmptyReplies `json:"empty,omitzero"`
	// Repeats counts the failed and lost attempts before this reply.
	Repeats agent.Repeats `json:"repeats,omitzero"`
	// Invalid says why the answer does not fit the output schema; empty if it fits or there is no schema.
	Invalid string `json:"invalid,omitempty"`
	// Recalled says that an earlier run has recorded the reply.
	Recalled bool `json:"recalled,omitempty"`
	// NewIn is set if a run searched all its earlier runs and did not find the reply. It is the end of the ID of the run
	// that searched: see [RunSuffix]. It is empty if there was no search, or if the history of an earlier run no longer
	// exists. NewIn names the run because a reset copies this result into the history of a new run. The new run has more
	// earlier runs, and NewIn does not say whether one of those has the reply.
	NewIn string `json:"new_in,omitempty"`
}

// ToolResult is the result of the activity [CallTool].
type ToolResult struct {
	Content string `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
	// Lost says that the call may have taken effect, and its result is unknown.
	Lost bool `json:"lost,omitempty"`
	// Recalled says that an earlier run has recorded the result.
	Recalled bool `json:"recalled,omitempty"`
}

// OmitDefaults returns the reply without the fields that have their default value, because history need not keep them.
// These are the role, the name of the first candidate, and a finish reason that follows from the message.
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

// AgentEnd describes the end of an agent. It is a part of the result of its workflow.
type AgentEnd struct {
	Answer string `json:"answer,omitempty"`
	// Stopped names the limit that ended the last turn early; empty if there was none.
	Stopped string `json:"stopped,omitempty"`
	// Failure says why there is no answer; empty if there is one.
	Failure string `json:"failure,omitempty"`
	// Spent counts the tokens and the cost of the agent and its sub-agents; nil if unknown.
	Spent *agent.Spending `json:"spent,omitempty"`
}

// ChildEnd reports the end of a sub-agent to its parent. A resumed sub-agent sends it: see [ChildEndSignal].
type ChildEnd struct {
	Key agent.Key `json:"key"`
	AgentEnd
}

// RecalledCall is what the earlier runs of an agent say about a call for a sub-agent.
type RecalledCall struct {
	agent.Recalled
	// Run is the end of the ID of the run that searched its earlier runs: see [RunSuffix]. A later reset copies this
	// result into the history of a new run, which has more earlier runs and may have to search again.
	Run string `json:"run"`
}

// AgentProgress says how many milliseconds ago the last event happened in a sub-agent or in an agent below it.
type AgentProgress struct {
	IdleMS int64 `json:"idle_ms"`
}

// LoadEvent returns the event for the end of the activity [LoadAgent], which returned d or err.
func LoadEvent(key agent.Key, d agent.Definition, err error) agent.Event {
	if err != nil {
		class, message := cause(err)
		return agent.DefinitionFailed{Key: key, Class: class, Message: message}
	}
	return agent.DefinitionLoaded{Key: key, Definition: d, MayHaveRun: true}
}

// ModelEvent returns the event for the end of a model call. It returns nil if the call was cancelled.
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

// ToolEvent returns the event for the end of a tool call. It returns nil if the activity was cancelled, because the
// agent cancels the activity of a call only after it has answered the call.
//
// The parameter limit is the size in bytes to which the transcript cuts the result. History keeps a longer part, which
// the model may read.
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

// ChildEvent returns the event for the end of a sub-agent. If err is nil, the parameter end says how the sub-agent
// ended; otherwise the sub-agent ended with the error err. The parameter reattached becomes the event's field
// Reattached. The parameter limit is the size in bytes to which the answer is cut.
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

// EndedFromOutside reports whether a sub-agent that ended with the error err was ended from outside: it was terminated
// or cancelled, or its run timed out. A person or program may resume such a sub-agent at once.
func EndedFromOutside(err error) bool {
	var timeout *temporal.TimeoutError
	var terminated *temporal.TerminatedError
	return errors.As(err, &timeout) || errors.As(err, &terminated) || temporal.IsCanceledError(err)
}

// Spent returns the spending of an agent that ended with the error err. It reads the spending from the details of the
// error, and returns nil if they do not contain it.
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

// shown returns the content of a result as the transcript shows it. If the content is longer than the parameter limit,
// in bytes, shown replaces the middle of it with a note. The note names the call by its key.
func shown(key agent.Key, content string, limit int) string {
	return clip.MiddleNoting(content, ShownBytes(limit), func(from, bytes int) string { return agent.TextLeftOut(key, from, bytes) })
}

// EndText returns a short text that says how an agent ended without an answer, such as "it was terminated". The text
// becomes part of the transcript of the agent's parent.
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

// IdleEvent returns the event that ends the wait for a sub-agent because no event has happened in it, or below it, for
// [agent.ChildIdleMS]. It returns nil if an event has happened, or if err says that the progress p could not be read.
func IdleEvent(child agent.Key, p AgentProgress, err error, now int64) agent.Event {
	if err != nil || p.IdleMS < agent.ChildIdleMS {
		return nil
	}
	return agent.ChildIdle(child, now)
}

// emptyReplies reads the [agent.EmptyReplies] from the details of an activity's failure. It returns the zero value if
// the details have none.
func emptyReplies(err error) agent.EmptyReplies {
	var empty agent.EmptyReplies
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.HasDetails() {
		_ = app.Details(&empty) // it is only a count; details of another type leave it at zero
	}
	return empty
}

// cause returns the type and the text of the failure with which an activity ended.
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

// TimeoutText returns a text that describes an attempt that timed out. If the heartbeats stopped, the text names two
// possible causes, because Temporal cannot tell them apart: the worker died, or it could not reach Temporal, for
// instance while Temporal itself was down.
func TimeoutText(kind enumspb.TimeoutType) string {
	if kind == enumspb.TIMEOUT_TYPE_HEARTBEAT {
		return "the worker sent no more heartbeats: it died, or it could not reach Temporal"
	}
	return "the call took longer than its time limit"
}
