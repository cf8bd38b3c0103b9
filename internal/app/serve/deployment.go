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

	"github.com/reagent-dev/reagent/internal/shellword"
)

// deployment is the worker deployment version of a worker process. With this version, Temporal decides which agents it gives
// to the worker. The zero value means a worker without a version.
type deployment struct {
	worker.DeploymentOptions
	// current is the version that gets new agents. It has no build ID if the deployment has no current version. Nil means
	// unknown.
	current *worker.WorkerDeploymentVersion
}

func newDeployment(o Options) (deployment, error) {
	var d deployment
	switch {
	case o.Deployment == "" && o.BuildID == "" && !o.Pinned:
		return d, nil
	case o.Deployment == "" || o.BuildID == "":
		return d, errors.New("--deployment or --build-id is missing; give both, or leave out --deployment, --build-id and --pinned")
	}
	d.UseVersioning = true
	d.Version = worker.WorkerDeploymentVersion{DeploymentName: o.Deployment, BuildID: o.BuildID}
	d.DefaultVersioningBehavior = workflow.VersioningBehaviorAutoUpgrade
	if o.Pinned {
		d.DefaultVersioningBehavior = workflow.VersioningBehaviorPinned
	}
	return d, nil
}

// look asks the server for the current version of the deployment and stores it in `d.current`. The field stays nil if the worker
// may not read the deployment, and has no build ID if the deployment does not exist yet. All other failures are errors, for example
// if the server does not accept the name of the deployment. For a worker without a version, look does nothing.
func (d *deployment) look(ctx context.Context, temporal client.Client) error {
	if !d.UseVersioning {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	found, err := temporal.WorkerDeploymentClient().GetHandle(d.Version.DeploymentName).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	switch {
	case errors.As(err, new(*serviceerror.PermissionDenied)):
		return nil // a worker must not need the permission to describe a deployment
	case errors.As(err, new(*serviceerror.NotFound)): // this is the first worker of the deployment
	case err != nil:
		return fmt.Errorf("--deployment %s: the worker deployment cannot be read from Temporal: %w; check the name and the connection", d.Version.DeploymentName, err)
	}
	d.current = cmp.Or(found.Info.RoutingConfig.CurrentVersion, &worker.WorkerDeploymentVersion{})
	return nil
}

// A version that is not current gets no new agents, and its worker seems to hang. So the greeting has the command that makes the version
// current.
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
	return fmt.Sprintf("%s: to give new agents to this build, run\n            temporal worker deployment set-current-version --deployment-name %s --build-id %s --address %s --namespace %s\n",
		text, shellword.Quote(d.Version.DeploymentName), shellword.Quote(d.Version.BuildID), shellword.Quote(address), shellword.Quote(namespace))
}
