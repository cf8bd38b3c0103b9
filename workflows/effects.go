package workflows

import (
	"fmt"
	"slices"
	"time"

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
	// lostInterval is the time after which an effect whose worker was lost is given out again. Where the far side
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
		ActivityID: string(step.Key), Summary: oneLine("definition of " + step.Agent),
		StartToCloseTimeout: loadTimeout, HeartbeatTimeout: d.options.HeartbeatTimeout, RetryPolicy: backoff(),
	})
	var def agent.Definition
	in := protocol.LoadAgentInput{Agent: step.Agent, Effect: d.effect(step.Key)}
	err := workflow.ExecuteActivity(ctx, protocol.LoadAgent, in).Get(ctx, &def)
	if temporal.IsCanceledError(err) {
		return
	}
	event := protocol.LoadEvent(step.Key, def, err)
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
		origin := d.state.ModelIdentity()
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
		Summary: oneLine(fmt.Sprintf("%s%s · %s · %s", d.recalls(key), what,
			d.state.Definition.Candidates[0].Model, plural(in.Count, "message"))),
		TaskQueue:           d.state.Definition.Queue,
		StartToCloseTimeout: effectTimeout, HeartbeatTimeout: d.options.HeartbeatTimeout,
		RetryPolicy: backoff(),
	})
	var result protocol.ModelResult
	err := workflow.ExecuteActivity(ctx, protocol.CallModel, in).Get(ctx, &result)
	e := protocol.ModelEvent(key, result, err, d.now())
	if replied, ok := e.(agent.ModelReplied); ok {
		replied.New = result.NewIn != "" && result.NewIn == d.runSuffix
		e = replied
	}
	d.apply(e)
}

// findMessages takes the messages that other runs of the agent took.
func (d *driver) findMessages(ctx workflow.Context, step agent.FindMessages) {
	var found agent.MessagesFound
	var in protocol.FindMessagesInput
	if from := d.start.From; from != nil && !from.Fork {
		in.From = from.RunID
	}
	for page := 0; ; page++ {
		id := string(step.Key)
		if page > 0 {
			id = fmt.Sprint(id, "-", page)
		}
		ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			ActivityID: id, Summary: "messages of other runs",
			StartToCloseTimeout: readTimeout, HeartbeatTimeout: d.options.HeartbeatTimeout, RetryPolicy: backoff(),
		})
		var out protocol.FoundMessages
		if err := workflow.ExecuteActivity(ctx, protocol.FindMessages, in).Get(ctx, &out); err != nil {
			return // it was given up; the retry policy has no end
		}
		if page == 0 {
			found.Run, found.Order = out.Run, out.Order
		}
		found.Messages = append(found.Messages, out.Messages...)
		if in.Skip = len(found.Messages); !out.More {
			break
		}
	}
	if found.Run == d.runSuffix {
		found.Run = d.state.Reset // an earlier run may have been reset, and this one goes on from it
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
		ActivityID: string(call.Key), Summary: oneLine(d.recalls(call.Key) + call.Name + " " + call.Arguments), TaskQueue: t.Queue,
		StartToCloseTimeout: effectTimeout, HeartbeatTimeout: d.options.HeartbeatTimeout,
		RetryPolicy: backoff(),
	})
	limit := d.state.Definition.Limits.ToolResultBytes
	in := protocol.CallToolInput{
		Effect: d.effect(call.Key), CallID: call.CallID,
		Ref: t.Ref, ToolEffect: tool.Effect(t.Effect), Arguments: call.Arguments,
		ResultBytes: limit, ShownBytes: protocol.ShownBytes(limit), Batch: d.state.BatchSize(),
	}
	// What the transcript leaves out of a result is read from history, but for what was read from there.
	if _, reads := d.state.Definition.Tool(agent.ReadResult); reads && t.Ref != agent.ReadResult {
		in.ResultBytes = max(limit, storedBytes)
	}
	var out protocol.ToolResult
	err := workflow.ExecuteActivity(ctx, protocol.CallTool, in).Get(ctx, &out)
	d.apply(protocol.ToolEvent(call.Key, call.Name, out, err, limit, d.now()))
}

// recalls begins the summary of an effect whose result is looked for in earlier runs
// before anything is run.
func (d *driver) recalls(key agent.Key) string {
	if d.start.BaseRunID == "" || !d.state.MayRecall(key) {
		return ""
	}
	return "recall or run · "
}

// effect tells an activity whether an earlier run may have had its effect already: one that was
// reset, or that this one goes on from.
func (d *driver) effect(key agent.Key) protocol.Effect {
	e := protocol.Effect{Run: d.runSuffix}
	if d.state.MayRecall(key) {
		e.Base = d.start.BaseRunID
	}
	return e
}
