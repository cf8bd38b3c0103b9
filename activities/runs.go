package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// ReadAgent returns one page of the compressed state of an agent, from which a new run continues the agent. A resume may need the state
// of a newer run than the input names. If there is one, the field `RunID` of the result names it.
//
// If the history is deleted or has no state, the error has the type [protocol.Gone]. If the history cannot be replayed, the type is
// [protocol.Mismatch]. If the state is too large, the type is [protocol.StateSize].
func (a *Activities) ReadAgent(ctx context.Context, in protocol.ReadAgentInput) (protocol.Page, error) {
	return reading(ctx, a, "read the history of agent "+in.From.ID, in, a.runs.Page)
}

// FindCall looks for what earlier runs have recorded about one call: its result, who decided on it, and its sub-agent. With a result, the
// agent does not make the call again. If no run has a result, the field `Phase` says whether the call or its sub-agent may have begun.
func (a *Activities) FindCall(ctx context.Context, in protocol.FindCallInput) (protocol.FoundCall, error) {
	return reading(ctx, a, "read the earlier runs of agent "+activity.GetInfo(ctx).WorkflowExecution.ID, in, a.runs.FindCall)
}

// FindMessages returns one page of the messages, decisions and revoked permissions that an agent may lack after a reset, because other
// runs of the agent received them. Each message and each revoked permission occurs once. Of several decisions of one kind on a call,
// only the first occurs.
func (a *Activities) FindMessages(ctx context.Context, in protocol.FindMessagesInput) (protocol.FoundMessages, error) {
	beat := a.attempts.Start(ctx, false, nil)
	defer beat.Stop(nil)
	return a.runs.Messages(ctx, in)
}

// reading runs an activity that reads other runs, with heartbeats. `what` says what the activity did, in the past tense, for the error
// after lost attempts: see [attempt.Attempt.CheckLost].
func reading[In, Out any](ctx context.Context, a *Activities, what string, in In, read func(context.Context, In) (Out, error)) (out Out, err error) {
	beat := a.attempts.Start(ctx, false, nil)
	defer func() { beat.Stop(err) }()
	if err = beat.CheckLost(what); err != nil {
		return out, err
	}
	return read(ctx, in)
}

// ReadProgress returns how long a sub-agent has been idle. The parent uses this time to decide whether it stops waiting for the
// sub-agent. The time is counted from the newest event in the history of the sub-agent and in the histories of all running
// sub-agents below it. The time is zero if the sub-agent has ended or no longer exists, because the parent will soon get the answer or
// failure. It is also zero if a person has paused the sub-agent.
func (a *Activities) ReadProgress(ctx context.Context, in protocol.ReadProgressInput) (protocol.AgentProgress, error) {
	last, err := a.runs.LastEvent(ctx, in.ID)
	if err != nil {
		return protocol.AgentProgress{}, fmt.Errorf("read the progress of agent %s: %w", in.ID, err)
	}
	return protocol.AgentProgress{IdleMS: max(0, time.Since(last).Milliseconds())}, nil
}
