package workflows

import (
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/payload"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/tool"
)

const (
	// effectTimeout bounds one attempt of a model or tool call. The worker has
	// tighter limits of its own; its death is noticed by the missing heartbeat.
	effectTimeout = 24 * time.Hour
	// lookTimeout bounds one look at a sub-agent, which takes milliseconds: where the worker dies during
	// it, nothing else tells.
	lookTimeout = 10 * time.Second
	// loadTimeout bounds one attempt to read a definition, readTimeout one to read a history.
	loadTimeout = time.Minute
	readTimeout = 10 * time.Minute
	// lostInterval is how soon an effect is given out again whose worker was lost. Where the far side
	// asks for patience, or fails, the activity says how much.
	lostInterval = 100 * time.Millisecond
	// storedBytes is the size to which a result is cut in the history of an agent that can read it there.
	storedBytes = 1_000_000
	// deltaBytes bounds the user's messages that travel with a model call. All others the activity finds
	// in its worker's cache or asks for.
	deltaBytes = 1024
)

// backoff is the only retry policy for effects. How often is for the activity to
// say: it alone knows whether an attempt came to its effect.
func backoff() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: lostInterval, BackoffCoefficient: 2, MaximumInterval: time.Minute}
}

func (d *driver) load(ctx workflow.Context, step agent.Load) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: string(step.Key), Summary: clip("definition of " + step.Agent),
		StartToCloseTimeout: loadTimeout, RetryPolicy: backoff(),
	})
	var def agent.Definition
	in := protocol.LoadAgentInput{Agent: step.Agent, Effect: d.effect(step.Key)}
	err := workflow.ExecuteActivity(ctx, protocol.LoadAgent, in).Get(ctx, &def)
	if temporal.IsCanceledError(err) {
		return
	}
	event := protocol.Loaded(step.Key, def, err)
	if loaded, ok := event.(agent.DefinitionLoaded); ok && d.state.LacksTools(def) {
		loaded.MayHaveRun = workflow.GetVersion(ctx, removedTool, workflow.DefaultVersion, 1) != workflow.DefaultVersion
		event = loaded
	}
	d.apply(event)
}

// removedTool names the change of what a call is told whose tool a new definition lacks. It stands in histories.
const removedTool = "removed-tool"

func (d *driver) callModel(ctx workflow.Context, step agent.CallModel) {
	in := protocol.CallModelInput{Count: step.Count, Delta: d.delta(step.Count)}
	if len(in.Delta) > 0 {
		origin := d.state.Origin()
		in.Origin = &origin
	}
	d.askModel(ctx, fmt.Sprintf("turn %d", d.state.Turn.Number), step.Key, in)
}

// compact asks the model for a summary of the beginning of the conversation.
func (d *driver) compact(ctx workflow.Context, step agent.Compact) {
	d.askModel(ctx, "summary", step.Key, protocol.CallModelInput{Count: step.Count, Compact: true})
}

func (d *driver) askModel(ctx workflow.Context, what string, key agent.Key, in protocol.CallModelInput) {
	in.Effect, in.Reasoning = d.effect(key), d.state.Definition.SendReasoning
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: string(key),
		Summary: clip(fmt.Sprintf("%s%s · %s · %s", d.recalls(key), what,
			d.state.Definition.Candidates[0].Model, plural(in.Count, "message"))),
		TaskQueue:           d.state.Definition.Queue,
		StartToCloseTimeout: effectTimeout, HeartbeatTimeout: d.options.HeartbeatTimeout,
		RetryPolicy: backoff(),
	})
	var result protocol.ModelResult
	err := workflow.ExecuteActivity(ctx, protocol.CallModel, in).Get(ctx, &result)
	d.apply(protocol.Replied(key, result, err, d.now()))
}

// findMessages takes the messages that other runs of the agent took.
func (d *driver) findMessages(ctx workflow.Context, step agent.FindMessages) {
	found := agent.MessagesFound{Run: d.state.Reset}
	for page := 0; ; page++ {
		id := string(step.Key)
		if page > 0 {
			id = fmt.Sprint(id, "-", page)
		}
		ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			ActivityID: id, Summary: "messages of other runs", StartToCloseTimeout: readTimeout, RetryPolicy: backoff(),
		})
		var out protocol.FoundMessages
		in := protocol.FindMessagesInput{Skip: len(found.Messages)}
		if err := workflow.ExecuteActivity(ctx, protocol.FindMessages, in).Get(ctx, &out); err != nil {
			return // it was given up; the retry policy has no end
		}
		found.Messages = append(found.Messages, out.Messages...)
		if !out.More {
			break
		}
	}
	found.Time = d.now()
	d.apply(found)
}

// delta returns the user's messages at the end of what is sent, as many as are small. Results do not
// cross history a second time.
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

func (d *driver) callTool(ctx workflow.Context, call agent.Call) {
	t, _ := d.state.Definition.Tool(call.Name)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: string(call.Key), Summary: clip(d.recalls(call.Key) + call.Name + " " + call.Arguments), TaskQueue: t.Queue,
		StartToCloseTimeout: effectTimeout, HeartbeatTimeout: d.options.HeartbeatTimeout,
		RetryPolicy: backoff(),
	})
	limit := d.state.Definition.Limits.ToolResultBytes
	in := protocol.CallToolInput{
		Effect: d.effect(call.Key), CallID: call.CallID,
		Ref: t.Ref, ToolEffect: tool.Effect(t.Effect), Arguments: call.Arguments,
		ResultBytes: limit, ShownBytes: protocol.ShownBytes(limit), Batch: len(d.state.Calls),
	}
	// What the transcript leaves out of a result is read from history, but for what was read from there.
	if _, reads := d.state.Definition.Tool(agent.ReadResult); reads && t.Ref != agent.ReadResult {
		in.ResultBytes = max(limit, storedBytes)
	}
	var out protocol.ToolResult
	err := workflow.ExecuteActivity(ctx, protocol.CallTool, in).Get(ctx, &out)
	d.apply(protocol.Finished(call.Key, call.Name, out, err, limit, d.now()))
}

// attend waits for a sub-agent, once for all calls that share it.
func (d *driver) attend(key agent.Key) {
	if d.flies(key) {
		return
	}
	f := &flight{key: key}
	d.flights = append(d.flights, f)
	workflow.Go(d.root, func(ctx workflow.Context) {
		child, _ := d.state.Child(key)
		end, reattached, err := d.runChild(ctx, child)
		limit := d.state.Definition.Limits.ToolResultBytes
		d.apply(protocol.ChildEnded(child, end, err, reattached, limit, d.now()))
		d.land(f)
	})
}

// limitWait answers a call as interrupted when its sub-agent's budget is over or, where it has none,
// when nothing has happened in it for long. The sub-agent goes on, and its answer is still waited for.
func (d *driver) limitWait(call agent.Call) {
	t, _ := d.state.Definition.Tool(call.Name)
	if d.flies(call.Key) {
		return
	}
	d.fly(call.Key, func(ctx workflow.Context) {
		if t.BudgetMS == 0 {
			d.watchProgress(ctx, call)
		} else if d.pause(ctx, t.BudgetMS, "budget of "+call.Name) {
			d.apply(agent.ChildOverdue(call.Child, t.BudgetMS, d.now()))
		}
	})
	d.flights[len(d.flights)-1].timer = true
}

// watchProgress looks at a sub-agent from time to time until nothing happens in it any more.
func (d *driver) watchProgress(ctx workflow.Context, call agent.Call) {
	child, _ := d.state.Child(call.Child)
	lookCtx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: string(agent.LookKey(call.Key)), Summary: clip("progress of " + child.ID),
		StartToCloseTimeout: lookTimeout, RetryPolicy: backoff(),
	})
	var seen protocol.AgentProgress
	for d.pause(ctx, agent.ChildIdleMS-seen.IdleMS, "progress of "+call.Name) {
		seen = protocol.AgentProgress{}
		err := workflow.ExecuteActivity(lookCtx, protocol.LookAgent, protocol.LookAgentInput{ID: child.ID}).Get(ctx, &seen)
		if temporal.IsCanceledError(err) {
			return
		}
		if idle := protocol.Looked(call.Child, seen, err, d.now()); idle != nil {
			d.apply(idle)
			return
		}
	}
}

// pause waits for so many milliseconds and reports whether they have passed.
func (d *driver) pause(ctx workflow.Context, ms int64, what string) bool {
	timer := workflow.NewTimerWithOptions(ctx, time.Duration(ms)*time.Millisecond, workflow.TimerOptions{Summary: clip(what)})
	return timer.Get(ctx, nil) == nil
}

// runChild starts a sub-agent, or finds the one that was started before under the same key.
// It outlives this workflow, whatever happens to it: after a reset or a
// restart it is found again.
func (d *driver) runChild(ctx workflow.Context, child agent.Child) (end protocol.AgentEnd, reattached bool, err error) {
	depth := d.state.Definition.Limits.Depth
	if d.state.MaxDepth != nil {
		depth = *d.state.MaxDepth
	}
	limit := d.state.Definition.Limits.ToolResultBytes
	start := Start{
		Agent: child.Agent, Mode: agent.Task, Life: agent.ChildLife(child.Key), Key: child.Key,
		Message: &agent.Incoming{ID: string(child.Key), Text: child.Task},
		Depth:   d.state.Depth + 1, MaxDepth: &depth, Grant: child.Grant,
		AnswerBytes: protocol.ShownBytes(limit), Batch: len(d.state.Calls),
	}
	childCtx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            child.ID,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		Memo:                  Memo(start),
		StaticSummary:         clip(child.Agent + " · " + child.Task),
		StaticDetails:         StaticDetails(start),
	})
	err = workflow.ExecuteChildWorkflow(childCtx, Agent, start).Get(ctx, &end)
	if !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return end, false, err
	}
	awaitCtx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: string(child.Key), Summary: clip("reattached · " + child.ID),
		StartToCloseTimeout: lookTimeout, RetryPolicy: backoff(),
	})
	in := protocol.AwaitAgentInput{ID: child.ID, Key: child.Key}
	err = workflow.ExecuteActivity(awaitCtx, protocol.AwaitAgent, in).Get(ctx, &end)
	return end, true, err
}

// cancelChildren asks every sub-agent that has not ended to end. Those have children of their
// own, to which they do the same.
func (d *driver) cancelChildren() {
	var asked []workflow.Future
	for _, child := range d.state.Children {
		if !child.Done {
			asked = append(asked, workflow.RequestCancelExternalWorkflow(d.root, child.ID, ""))
		}
	}
	for _, f := range asked {
		if err := f.Get(d.root, nil); err != nil {
			workflow.GetLogger(d.root).Debug("a sub-agent could not be cancelled", "error", err)
		}
	}
}

// recalls begins the summary of an effect whose result is looked for in earlier runs
// before anything is run.
func (d *driver) recalls(key agent.Key) string {
	if d.start.Base == "" || !d.state.MayRecall(key) {
		return ""
	}
	return "recall or run · "
}

// effect tells an activity whether an earlier run may have had its effect already: one that was
// reset, or that this one goes on from.
func (d *driver) effect(key agent.Key) protocol.Effect {
	e := protocol.Effect{Run: d.runSuffix}
	if d.state.MayRecall(key) {
		e.Base = d.start.Base
	}
	return e
}
