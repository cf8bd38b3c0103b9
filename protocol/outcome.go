package protocol

import (
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/tool"
)

// This file says what the end of an activity or of a sub-agent means to the agent. The
// driver applies what these functions return.

// DefaultResultBytes is the size of a tool result where the agent sets none.
const DefaultResultBytes = 64 << 10

// ModelResult is the result of the activity that asks the model.
type ModelResult struct {
	llm.Reply
	// Empty are the replies that came before this one and said nothing.
	Empty agent.EmptyReplies `json:"empty,omitzero"`
	// Repeats are the attempts before the one that brought this reply.
	Repeats agent.Repeats `json:"repeats,omitzero"`
	// Invalid tells how an answer does not fit the schema that was asked for.
	Invalid string `json:"invalid,omitempty"`
	// Recalled says that the reply is that of an earlier run.
	Recalled bool `json:"recalled,omitempty"`
	// NewIn is the end of the ID of the run for which all earlier runs were searched in vain: see [RunSuffix]. It is empty where
	// they were not searched. A run that was reset from it has its history, and knows nothing of its own earlier runs by it.
	NewIn string `json:"new_in,omitempty"`
}

// ToolResult is the result of the activity that runs a tool.
type ToolResult struct {
	Content string `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
	// Lost says that the call may have taken effect and its result is not known.
	Lost bool `json:"lost,omitempty"`
	// Recalled says that the result is that of an earlier run.
	Recalled bool `json:"recalled,omitempty"`
}

// OmitDefaults returns the reply to a request without what goes without saying: its role, the name of the candidate
// that is asked first, and a reason to finish that the message itself shows. History keeps the rest.
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
	// Stopped names the limit that cut the last turn short; empty if there was none.
	Stopped string `json:"stopped,omitempty"`
	// Failure tells why there is no answer.
	Failure string `json:"failure,omitempty"`
	// Spent counts the tokens and the cost of the agent and its sub-agents; nil if unknown.
	Spent *agent.Spending `json:"spent,omitempty"`
}

// ChildEnd is the end of a sub-agent, told by itself.
type ChildEnd struct {
	Key agent.Key `json:"key"`
	AgentEnd
}

// RecalledCall is the answer of the earlier runs about a call for a sub-agent.
type RecalledCall struct {
	agent.Recalled
	// Run is the end of the ID of the run that asked them: see [RunSuffix]. A run that was reset later has more
	// earlier runs.
	Run string `json:"run"`
}

// AgentProgress tells when something happened last in a sub-agent or below it.
type AgentProgress struct {
	IdleMS int64 `json:"idle_ms"`
}

// LoadEvent is the event of a definition that was read, or not.
func LoadEvent(key agent.Key, d agent.Definition, err error) agent.Event {
	if err != nil {
		class, message := cause(err)
		return agent.DefinitionFailed{Key: key, Class: class, Message: message}
	}
	return agent.DefinitionLoaded{Key: key, Definition: d, MayHaveRun: true}
}

// ModelEvent is the event of a model call; nil when the call was given up.
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

// ToolEvent is the event of a tool call; nil when the call was given up, since it was
// answered then.
//
// Limit is the size to which the result is cut in the transcript; the whole of it stays in the
// history, where the model may read it.
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

// ChildEvent is the event of a sub-agent that was waited for. Limit is the size
// to which its answer is cut.
func ChildEvent(child agent.Child, end AgentEnd, err error, reattached bool, limit int, now int64) agent.ChildFinished {
	var result agent.Result
	switch {
	case err != nil:
		end.Spent = Spent(err)
		result = agent.ChildFailed(child.Agent, EndText(err), now)
	case end.Failure != "":
		result = agent.ChildFailed(child.Agent, end.Failure, now)
	default:
		result = agent.ChildAnswered(tool.Clip(end.Answer, ShownBytes(limit)), now)
	}
	return agent.ChildFinished{Key: child.Key, Result: result, Spent: end.Spent, Reattached: reattached}
}

// EndedFromOutside reports whether the error with which a sub-agent ended is the work of somebody or something outside of
// it, after which it may be resumed at once: it was terminated or cancelled, or its run timed out.
func EndedFromOutside(err error) bool {
	var timeout *temporal.TimeoutError
	var terminated *temporal.TerminatedError
	return errors.As(err, &timeout) || errors.As(err, &terminated) || temporal.IsCanceledError(err)
}

// Spent returns what an agent had spent that ended in an error; nil where the error does not tell.
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

// shown returns what the transcript shows of the result of a call.
func shown(key agent.Key, content string, limit int) string {
	return tool.ClipNoting(content, ShownBytes(limit), func(from, bytes int) string { return agent.TextLeftOut(key, from, bytes) })
}

// EndText says in a few words how an agent ended that gave no answer. The
// text enters the transcript of the agent that waited.
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

// IdleEvent is the event of a look at a sub-agent; nil while something happens there.
func IdleEvent(child agent.Key, p AgentProgress, err error, now int64) agent.Event {
	if err != nil || p.IdleMS < agent.ChildIdleMS {
		return nil
	}
	return agent.ChildIdle(child, now)
}

// emptyReplies returns those that stand behind a failure.
func emptyReplies(err error) agent.EmptyReplies {
	var empty agent.EmptyReplies
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.HasDetails() {
		_ = app.Details(&empty) // only a count: details of another kind leave it
	}
	return empty
}

// cause returns the class and the words of an activity's failure.
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

// TimeoutText says what is known of an attempt whose worker did not answer. Temporal cannot tell a worker that died from one
// that could not reach Temporal, for instance while Temporal itself was down.
func TimeoutText(kind enumspb.TimeoutType) string {
	if kind == enumspb.TIMEOUT_TYPE_HEARTBEAT {
		return "the worker sent no more heartbeats: it died, or it could not reach Temporal"
	}
	return "the call took longer than its time limit"
}
