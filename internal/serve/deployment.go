package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// deployment is the version that the workers of a process have: which agents Temporal gives them.
type deployment struct {
	worker.DeploymentOptions
	// current is the version that gets new agents: an empty one where there is none, nil where it is not known.
	current *worker.WorkerDeploymentVersion
}

// newDeployment reads the flags that name a version; none of them means workers without one.
func newDeployment(o Options) (deployment, error) {
	var d deployment
	switch {
	case o.Deployment == "" && o.BuildID == "" && !o.Pinned:
		return d, nil
	case o.Deployment == "" || o.BuildID == "":
		return d, errors.New("--deployment and --build-id name a version together: give both, or neither; --pinned needs both")
	}
	d.UseVersioning = true
	d.Version = worker.WorkerDeploymentVersion{DeploymentName: o.Deployment, BuildID: o.BuildID}
	d.DefaultVersioningBehavior = workflow.VersioningBehaviorAutoUpgrade
	if o.Pinned {
		d.DefaultVersioningBehavior = workflow.VersioningBehaviorPinned
	}
	return d, nil
}

// look finds out which version is current, and whether the names are ones that the server takes.
func (d *deployment) look(ctx context.Context, temporal client.Client) error {
	if !d.UseVersioning {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	found, err := temporal.WorkerDeploymentClient().GetHandle(d.Version.DeploymentName).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	switch {
	case errors.As(err, new(*serviceerror.PermissionDenied)):
		return nil // looking is not among what a worker has to be allowed to do
	case errors.As(err, new(*serviceerror.NotFound)): // its first worker is this one
	case err != nil:
		return fmt.Errorf("--deployment %s: %w", d.Version.DeploymentName, err)
	}
	d.current = cmp.Or(found.Info.RoutingConfig.CurrentVersion, &worker.WorkerDeploymentVersion{})
	return nil
}

// greeting names the version. One that is not current gets no new agents, which looks like a
// worker that hangs: the greeting says how to make it so.
func (d deployment) greeting(address, namespace string) string {
	if !d.UseVersioning {
		return ""
	}
	text := fmt.Sprintf("Deployment  %s, build %s", d.Version.DeploymentName, d.Version.BuildID)
	if d.DefaultVersioningBehavior == workflow.VersioningBehaviorPinned {
		text += ", its agents pinned"
	}
	switch {
	case d.current == nil:
		return text + "\n"
	case d.current.BuildID == d.Version.BuildID:
		return text + ", the current one\n"
	case d.current.BuildID == "":
		text += "; none is current"
	default:
		text += "; current is " + d.current.BuildID
	}
	return fmt.Sprintf("%s: to give it the new agents,\n            temporal worker deployment set-current-version --deployment-name %s --build-id %s --address %s --namespace %s\n",
		text, d.Version.DeploymentName, d.Version.BuildID, address, namespace)
}
