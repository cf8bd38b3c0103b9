package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/internal/protocol"
)

// Upgrade asks an agent to continue in a new run on the current version of its workers. Upgrade needs a running worker, and
// returns when the agent has accepted the request. The new run begins as soon as no model or tool call is running.
//
// If runs are pinned to worker versions, the old run stays on its version, and the new run begins on the current version.
// Some Temporal servers pin the new run to the old version, too: see [Client.UpgradeAndWait].
func (c *Client) Upgrade(ctx context.Context, id string) error {
	return c.update(ctx, id, nil, protocol.UpgradeUpdate)
}

// UpgradeAndWait does the same as [Client.Upgrade], then waits until the agent continues in a new run, and returns the ID of
// that run. Some Temporal servers, such as 1.29, pin the new run to the version of the old run. UpgradeAndWait then starts a
// second new run, which is on the current version.
//
// When the agent has accepted the request, UpgradeAndWait calls `taken`, which may be nil. After that, the agent continues in
// a new run even if ctx ends.
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
	// This server pinned the new run to the old version. The new run has done almost nothing, so move it to the current version
	// with an AutoUpgrade override. Then start another run, which is pinned again.
	_, err = c.temporal.UpdateWorkflowExecutionOptions(ctx, client.UpdateWorkflowExecutionOptionsRequest{
		WorkflowId: id, RunId: after.runID,
		WorkflowExecutionOptionsChanges: client.WorkflowExecutionOptionsChanges{
			VersioningOverride: &client.VersioningOverrideChange{Value: &client.AutoUpgradeVersioningOverride{}},
		},
	})
	if err != nil {
		return after.runID, served(fmt.Sprintf("upgrade agent %q", id), err)
	}
	after, err = c.startNewRun(ctx, id, after, nil)
	return after.runID, err
}

// ReloadError is the error of [Client.ReloadAndWait] if an agent could not load its definition again. The agent keeps the
// definition that it had.
type ReloadError struct {
	// ID is the agent's ID.
	ID string
	// Problem says why the definition could not be loaded.
	Problem string
}

// Error implements error. The text says that the agent keeps its old definition.
func (e *ReloadError) Error() string {
	return fmt.Sprintf("reload agent %q: the new definition could not be loaded, so the agent keeps its old definition: %s", e.ID, e.Problem)
}

// Reload asks a running agent to load its definition again, and returns when the agent has accepted the request: see
// [Client.ReloadAndWait].
func (c *Client) Reload(ctx context.Context, id string) error {
	return c.update(ctx, id, nil, protocol.ReloadUpdate, uuid.NewString())
}

// ReloadAndWait asks a running agent to load its definition again, and waits until the agent has done so. The agent loads the
// definition as soon as no model call is running, each tool call and sub-agent call has its result, and no summary is to be made.
// Sub-agents keep their definitions. If the definition cannot be loaded, the error is a [*ReloadError]. If the agent ends before, the
// error wraps [ErrClosed].
//
// When the agent has accepted the request, ReloadAndWait calls `taken`, which may be nil. After that, the agent loads the
// definition even if ctx ends.
func (c *Client) ReloadAndWait(ctx context.Context, id string, taken func()) error {
	if err := c.Reload(ctx, id); err != nil {
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
		view, err := c.state(ctx, id)
		switch {
		case err == nil && !view.Reloading && view.ReloadFailure != "":
			return &ReloadError{ID: id, Problem: view.ReloadFailure}
		case err == nil && !view.Reloading:
			return nil
		case err != nil && !unanswered(err):
			return err
		case !sleep(ctx, pause):
			return fmt.Errorf("reload agent %q: the definition has not been loaded yet; the agent loads it when all model, tool and sub-agent calls have ended: %w", id, context.Cause(ctx))
		}
	}
}

// startNewRun asks an agent to continue in a new run, waits until the newest run is another one than `old`, and returns the
// description of that run. When the agent has accepted the request, startNewRun calls `taken`, which may be nil.
func (c *Client) startNewRun(ctx context.Context, id string, old description, taken func()) (description, error) {
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
		case found.runID != old.runID:
			return found, nil
		case found.status.Ended():
			return description{}, &ClosedError{Operation: "upgrade", ID: id, Status: found.status}
		case !sleep(ctx, pause):
			return description{}, fmt.Errorf("upgrade agent %q: the new run has not started yet; the agent continues in a new run when all model and tool calls have ended: %w", id, context.Cause(ctx))
		}
	}
}

// staysBehind reports whether an upgrade has left an agent on its old worker version: the new run (`after`) is pinned to the
// version of the old run (`before`), and the deployment has another current version.
func (c *Client) staysBehind(ctx context.Context, before, after description) (bool, error) {
	old, now := before.version.GetDeploymentVersion(), after.version.GetDeploymentVersion()
	if after.version.GetBehavior() != enumspb.VERSIONING_BEHAVIOR_PINNED || now.GetBuildId() != old.GetBuildId() {
		return false, nil
	}
	found, err := c.temporal.WorkerDeploymentClient().GetHandle(now.GetDeploymentName()).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if err != nil {
		return false, served(fmt.Sprintf("describe worker deployment %q", now.GetDeploymentName()), err)
	}
	current := found.Info.RoutingConfig.CurrentVersion
	return current != nil && current.BuildID != now.GetBuildId(), nil
}
