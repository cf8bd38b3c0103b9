package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/workflows"
)

// Upgrade asks an agent to go on in a new run, on the current version of its workers, as soon as no
// model or tool call runs. An agent of pinned workers stays on the version on which its run began until
// then, and longer on servers that give a run's version to the next: see [Client.UpgradeAndWait].
func (c *Client) Upgrade(ctx context.Context, id string) error {
	return c.update(ctx, id, nil, workflows.UpgradeUpdate)
}

// UpgradeAndWait is [Client.Upgrade] that waits until the agent goes on, and returns the new run's ID. Taken,
// which may be nil, is called when the agent has been asked: it will go on also if ctx ends
// before. On servers that give the version of a pinned run to the next (1.29), the agent goes on in
// one run more.
func (c *Client) UpgradeAndWait(ctx context.Context, id string, taken func()) (runID string, err error) {
	before, err := c.describe(ctx, id)
	if err != nil {
		return "", err
	}
	after, err := c.startNewRun(ctx, id, before, taken)
	if err != nil {
		return "", err
	}
	stays, err := c.staysBehind(ctx, before, after)
	if err != nil || !stays {
		return after.runID, err
	}
	// This server gives the version of a pinned run to the next one. The new run has done next to
	// nothing: let it follow the current version, and go on once more, pinned again.
	_, err = c.temporal.UpdateWorkflowExecutionOptions(ctx, client.UpdateWorkflowExecutionOptionsRequest{
		WorkflowId: id, RunId: after.runID,
		WorkflowExecutionOptionsChanges: client.WorkflowExecutionOptionsChanges{
			VersioningOverride: &client.VersioningOverrideChange{Value: &client.AutoUpgradeVersioningOverride{}},
		},
	})
	if err != nil {
		return after.runID, served("upgrade", id, err)
	}
	after, err = c.startNewRun(ctx, id, after, nil)
	return after.runID, err
}

// ReloadError says that an agent could not read its definition anew, and goes on with the one before.
type ReloadError struct {
	ID string
	// Problem tells why.
	Problem string
}

// Error names the agent and the problem.
func (e *ReloadError) Error() string {
	return fmt.Sprintf("reload %s: the definition could not be read, and the agent keeps the one before: %s", e.ID, e.Problem)
}

// ReloadAndWait lets an agent that runs read its definition anew, as soon as no model or tool call runs, and waits until it has. Taken,
// which may be nil, is called when the agent has been asked: it will read it also if ctx ends before. Sub-agents keep theirs.
// A definition that cannot be read is a [ReloadError].
func (c *Client) ReloadAndWait(ctx context.Context, id string, taken func()) error {
	if err := c.update(ctx, id, nil, workflows.ReloadUpdate, uuid.NewString()); err != nil {
		return err
	}
	if taken != nil {
		taken()
	}
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		found, err := c.describe(ctx, id)
		if err == nil && found.status.Ended() {
			return &ClosedError{Operation: "reload", ID: id, Status: found.status}
		}
		view, err := c.State(ctx, id)
		switch {
		case err == nil && !view.Reloading && view.ReloadFailure != "":
			return &ReloadError{ID: id, Problem: view.ReloadFailure}
		case err == nil && !view.Reloading:
			return nil
		case err != nil && !unanswered(err):
			return err
		case !sleep(ctx, pause):
			return fmt.Errorf("reload %s: it waits for a model or tool call to end: %w", id, context.Cause(ctx))
		}
	}
}

// startNewRun asks an agent to go on in a new run and waits until it does.
func (c *Client) startNewRun(ctx context.Context, id string, from description, taken func()) (description, error) {
	if err := c.Upgrade(ctx, id); err != nil {
		return description{}, err
	}
	if taken != nil {
		taken()
	}
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		found, err := c.describe(ctx, id)
		switch {
		case err != nil:
			return description{}, err
		case found.runID != from.runID:
			return found, nil
		case found.status.Ended():
			return description{}, &ClosedError{Operation: "upgrade", ID: id, Status: found.status}
		case !sleep(ctx, pause):
			return description{}, fmt.Errorf("upgrade agent %q: a model or tool call of it is still running; the agent goes on in a new run when the call has ended: %w", id, context.Cause(ctx))
		}
	}
}

// staysBehind reports whether a new run is pinned to the version of the one before, and another version is current.
func (c *Client) staysBehind(ctx context.Context, before, after description) (bool, error) {
	old, now := before.version.GetDeploymentVersion(), after.version.GetDeploymentVersion()
	if after.version.GetBehavior() != enumspb.VERSIONING_BEHAVIOR_PINNED || now.GetBuildId() != old.GetBuildId() {
		return false, nil
	}
	found, err := c.temporal.WorkerDeploymentClient().GetHandle(now.GetDeploymentName()).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if err != nil {
		return false, served("look at deployment", now.GetDeploymentName(), err)
	}
	current := found.Info.RoutingConfig.CurrentVersion
	return current != nil && current.BuildID != now.GetBuildId(), nil
}
