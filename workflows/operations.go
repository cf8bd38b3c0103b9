package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

const (
	// callTimeout is the start-to-close timeout of a model call or a tool call. It is long for two reasons: the activity
	// has shorter limits of its own, and Temporal notices a crashed worker by the missing heartbeat.
	callTimeout = 24 * time.Hour
	// lookTimeout is the start-to-close timeout of the activities that ask Temporal about a sub-agent, which take milliseconds. They
	// have no heartbeat timeout, so only this timeout reveals that the worker crashed.
	lookTimeout = 10 * time.Second
	loadTimeout = time.Minute
	readTimeout = 10 * time.Minute
	// lostInterval is the time between a lost attempt of an activity and its first retry. If a model or a tool fails, or
	// asks to wait, the activity itself sets the delay of the next attempt.
	lostInterval = 100 * time.Millisecond
	// storedBytes is the size, in bytes, to which tool results are cut in the history of an agent that has the tool read_result.
	// With this tool the model reads the parts of results that the transcript leaves out.
	storedBytes = 1_000_000
	// deltaBytes is the largest size, in bytes, of the user's messages in the input of a model call. The activity takes
	// all other messages from the cache of its worker, or queries the workflow for them.
	deltaBytes = 1024
)

// backoff returns the retry policy of an agent's activities, except notifications. It does not limit the number of attempts. The
// activity itself decides when to give up, because only the activity knows whether an attempt reached the model or the tool.
func backoff() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: lostInterval, BackoffCoefficient: 2, MaximumInterval: time.Minute}
}

// reading returns a context with the options of an activity that reads the definition, or what is in earlier runs.
func (d *driver) reading(ctx workflow.Context, id, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: id, Summary: oneLine(summary),
		StartToCloseTimeout: readTimeout, HeartbeatTimeout: d.options.HeartbeatTimeout, RetryPolicy: backoff(),
	})
}

// looking returns a context with the options of an activity that asks Temporal about a sub-agent.
func looking(ctx workflow.Context, id agent.Key, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: string(id), Summary: oneLine(summary), StartToCloseTimeout: lookTimeout, RetryPolicy: backoff(),
	})
}

// load reads the definition, by the activity LoadAgent. A cancelled activity changes nothing.
func (d *driver) load(ctx workflow.Context, f *operation, step agent.Load) {
	ctx = workflow.WithStartToCloseTimeout(d.reading(ctx, string(step.Key), "definition of "+step.Agent), loadTimeout)
	f.result = workflow.ExecuteActivity(ctx, protocol.LoadAgent, protocol.LoadAgentInput{Agent: step.Agent, Overrides: d.state.Overrides, Recall: d.recallHint(step.Key)})
	f.ended = func(ctx workflow.Context) {
		var def agent.Definition
		if err := f.result.Get(ctx, &def); !temporal.IsCanceledError(err) {
			d.apply(protocol.LoadEvent(step.Key, def, err))
		}
	}
}

// resolveOverrides checks the overrides of a message, by the activity ResolveOverrides. A cancelled activity changes nothing.
func (d *driver) resolveOverrides(ctx workflow.Context, f *operation, step agent.ResolveOverrides) {
	in := protocol.NewResolveOverridesInput(d.state.Own(), d.state.Overrides, step.Overrides)
	in.Recall = d.recallHint(step.Key)
	ctx = workflow.WithStartToCloseTimeout(d.reading(ctx, string(step.Key), "overrides of a message"), loadTimeout)
	f.result = workflow.ExecuteActivity(ctx, protocol.ResolveOverrides, in)
	f.ended = func(ctx workflow.Context) {
		var def agent.TurnDefinition
		if err := f.result.Get(ctx, &def); !temporal.IsCanceledError(err) {
			d.apply(protocol.OverridesEvent(step.Key, def, err, d.now()))
		}
	}
}

func (d *driver) callModel(ctx workflow.Context, f *operation, step agent.CallModel) {
	in := protocol.CallModelInput{Count: step.Count, Delta: d.delta(step.Count), PartialText: d.state.ReportsText(d.now())}
	if d.state.JudgesAnswers() { // nobody sees an answer before it was judged
		in.Judged, in.PartialText = true, false
	}
	if in.Rules = d.state.Definition.ApprovalRules(); len(in.Rules) > 0 {
		in.Agent = d.state.Definition.Name
	}
	if len(in.Delta) > 0 {
		origin := d.state.ModelIdentity()
		in.Origin = &origin
	}
	d.askModel(ctx, f, fmt.Sprintf("turn %d", d.state.Turn.Number), step.Key, in)
}

// compact asks the model for a summary, which takes the place of the beginning of the conversation.
func (d *driver) compact(ctx workflow.Context, f *operation, step agent.Compact) {
	d.askModel(ctx, f, "summary", step.Key, protocol.CallModelInput{Count: step.Count, Compact: true})
}

// askModel starts the activity CallModel, and sets how its result is applied: see [driver.applyEnd]. `label` is a short description
// of the call, for the summary of the activity. The key is the ID of the activity.
func (d *driver) askModel(ctx workflow.Context, f *operation, label string, key agent.Key, in protocol.CallModelInput) {
	in.Recall, in.Reasoning, in.Metadata = d.recallHint(key), d.state.Definition.SendReasoning, d.state.CurrentMetadata()
	in.Traceparent = d.traceParent()
	turn := d.state.Turn
	summary := fmt.Sprintf("%s · %s · %s", label, d.state.Definition.Candidates[0].Model, plural.Of(in.Count, "message"))
	ctx = d.withCallOptions(ctx, key, d.state.Definition.TaskQueue, summary)
	f.result = workflow.ExecuteActivity(ctx, protocol.CallModel, in)
	f.ended = func(ctx workflow.Context) {
		var result protocol.ModelResult
		err := f.result.Get(ctx, &result)
		e := protocol.ModelEvent(key, result, err, d.now())
		if replied, ok := e.(agent.ModelReplied); ok {
			replied.New = result.NewIn != "" && d.sentHere(result.NewIn)
			e = replied
		}
		d.applyEnd(turn, e, err)
	}
}

// findMessages gets the messages and decisions that other runs of the agent received. It reads them page by page, by the
// activity FindMessages. It applies all pages as one event.
func (d *driver) findMessages(ctx workflow.Context, step agent.FindMessages) {
	var found agent.MessagesFound
	in := protocol.FindMessagesInput{Count: d.state.Count()}
	for page := 0; ; page++ {
		id := string(step.Key)
		if page > 0 {
			id = fmt.Sprint(id, "-", page)
		}
		ctx := d.reading(ctx, id, "messages of other runs")
		var out protocol.FoundMessages
		if err := workflow.ExecuteActivity(ctx, protocol.FindMessages, in).Get(ctx, &out); err != nil {
			return // finish has cancelled the search: other errors are retried without a limit
		}
		if page == 0 {
			found.Run, found.Order, found.Places, found.Revoked = out.Run, out.Order, out.Places, out.Revoked
		}
		found.Messages = append(found.Messages, out.Messages...)
		found.Decisions = append(found.Decisions, out.Decisions...)
		if in.Skip = len(found.Messages) + len(found.Decisions); !out.More {
			break
		}
	}
	if d.sentHere(found.Run) {
		found.Run = d.state.Reset // the reset may have begun an earlier run, which this run continues
	}
	found.Time = d.now()
	d.apply(found)
}

// delta returns the user's messages at the end of a request, for the field Delta of [protocol.CallModelInput]. The request
// has `count` messages. delta begins with the last message and goes back. It stops at a message that is not from the user, or
// when the messages would exceed [deltaBytes].
func (d *driver) delta(count int) []llm.Message {
	var delta []llm.Message
	size := 0
	for i := count - 1; i >= 0; i-- {
		m := d.state.Sent(i)
		if m.Role != llm.User {
			break
		}
		if size += payload.Size(m); size > deltaBytes {
			break
		}
		delta = append(delta, m)
	}
	slices.Reverse(delta)
	return delta
}

func (d *driver) callTool(ctx workflow.Context, f *operation, call agent.Call) {
	t, _ := d.state.Definition.Tool(call.Name)
	turn := d.state.Turn
	ctx = d.withCallOptions(ctx, call.Key, t.TaskQueue, call.Name+" "+d.said(call.Arguments))
	limit := d.state.Definition.Limits.ToolResultBytes
	in := protocol.CallToolInput{
		Recall: d.recallHint(call.Key), CallID: call.CallID,
		Ref: t.Ref, ToolEffect: t.Effect, Arguments: call.Arguments,
		ResultBytes: limit, ShownBytes: protocol.ShownBytes(limit), Batch: d.state.BatchSize(),
		PartialText: d.state.ReportsText(d.now()), Metadata: d.state.CurrentMetadata(), Traceparent: d.traceParent(),
	}
	if e := call.Elicitation; e != nil {
		in.Elicitation = &agent.Elicitation{State: e.State, Answer: e.Answer}
	}
	if child, ok := d.state.Child(call.To); ok {
		in.To = child.ID
	}
	// The agent reads the parts that the transcript leaves out from the history, by read_result. The results of read_result
	// itself are in the history already.
	if _, reads := d.state.Definition.Tool(agent.ReadResult); reads && t.Ref != agent.ReadResult {
		in.ResultBytes = max(limit, storedBytes)
	}
	f.result = workflow.ExecuteActivity(ctx, protocol.CallTool, in.OmitDefaults())
	f.ended = func(ctx workflow.Context) {
		var out protocol.ToolResult
		err := f.result.Get(ctx, &out)
		d.applyEnd(turn, protocol.ToolEvent(call.Key, call.Name, out, err, limit, d.now()), err)
	}
}

// withCallOptions returns a context with the options of an activity that makes a model call or a tool call. The key is the ID of the
// activity. An empty task queue means that of the agent.
func (d *driver) withCallOptions(ctx workflow.Context, key agent.Key, queue, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: string(key), Summary: oneLine(d.recalls(key) + summary), TaskQueue: queue, Priority: d.priority(),
		ScheduleToCloseTimeout: d.timeLeft(), StartToCloseTimeout: callTimeout, HeartbeatTimeout: d.options.HeartbeatTimeout,
		RetryPolicy: backoff(),
	})
}

// recalls returns the beginning of an activity's summary: "recall or run · " if the activity first searches earlier runs for its
// result, and "" if it does not. The key is the ID of the activity.
func (d *driver) recalls(key agent.Key) string {
	if d.start.BaseRunID == "" || !d.state.MayRecall(key) {
		return ""
	}
	return "recall or run · "
}

// recallHint returns the part of an activity's input that names the runs to search for an earlier result: see [protocol.Recall].
// The given key is the ID of the activity. If no earlier run can have the result, the field BaseRunID is empty.
func (d *driver) recallHint(key agent.Key) protocol.Recall {
	e := protocol.Recall{Run: d.runSuffix}
	if d.state.MayRecall(key) {
		e.BaseRunID = d.start.BaseRunID
	}
	return e
}
