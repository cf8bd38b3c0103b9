package reagent

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// newActivityWorker returns an activity worker of the plugin (see [Plugin]) for one activity. The options `o` already have what the client's plugins set.
// The SDK applies these plugins to each new worker. Without [inherited], an interceptor that such a plugin adds would be called twice.
func newActivityWorker(c client.Client, queue string, o worker.Options, name string, run any) worker.Worker {
	o.Plugins = []worker.Plugin{inherited{options: o}}
	w := worker.New(c, queue, o)
	w.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	return w
}

// activityWorkerOptions returns the options of an activity worker, made from those of the plugin's worker. The comment of [Plugin] lists
// the options that are not inherited.
func activityWorkerOptions(o worker.Options) worker.Options {
	o.Plugins = nil
	o.DisableWorkflowWorker = true
	o.EnableSessionWorker = false
	// An activity worker serves the agents of every version.
	o.DeploymentOptions = worker.DeploymentOptions{}
	o.UseBuildIDForVersioning = false //nolint:staticcheck // a program may still set it
	// The limit is for the worker's own task queue.
	o.TaskQueueActivitiesPerSecond = 0
	return o
}

// inherited is a worker plugin that replaces all options of its worker.
type inherited struct {
	worker.PluginBase

	options worker.Options
}

// Name implements [worker.Plugin].
func (inherited) Name() string { return "reagent-inherited" }

// ConfigureWorker implements [worker.Plugin]. The SDK calls it after the client's plugins.
func (i inherited) ConfigureWorker(_ context.Context, c worker.PluginConfigureWorkerOptions) error {
	plugins := c.WorkerOptions.Plugins // which a plugin must not change
	*c.WorkerOptions = i.options
	c.WorkerOptions.Plugins = plugins
	return nil
}
