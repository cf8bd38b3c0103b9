package reagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/internal/external"
	"github.com/reagent-dev/reagent/internal/hint"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/presence"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/workflows"
)

const (
	// stickyTimeout is the time for which Temporal keeps a workflow task for the worker that has the workflow in memory. If that
	// worker has not fetched the task then, any worker may get it. The SDK's default is 5 seconds.
	stickyTimeout = time.Second
	// minHeartbeatTimeout is the smallest value of [Options.HeartbeatTimeout], because Temporal looks for missing heartbeats only about
	// once a second.
	minHeartbeatTimeout = time.Second
	// stopTimeout is the time that running activities have to end when a worker stops.
	stopTimeout = 2 * time.Minute
)

// Plugin adds agents to one Temporal worker. When the worker starts, the plugin registers the workflow and the activities of
// agents. When the worker stops, the plugin stops the MCP servers.
//
// The plugin also starts and stops activity workers, which are further workers in this process that run only activities. Each has a
// task queue of its own:
//   - One for each model. A model with a limit on requests gets all its calls there. A model without a limit has one, too, because an
//     agent that was started when the model had a limit still uses this task queue.
//   - One for each stateful MCP server that runs in this process.
//
// The plugin sets four options of the worker if they are zero:
//   - StickyScheduleToStartTimeout becomes 1 second. After a crash, another worker then soon takes over.
//   - WorkflowTaskPollerBehavior scales the pollers, unless MaxConcurrentWorkflowTaskPollers is set. A fixed number of pollers is shared by two
//     queues: that of the workflows which the worker has in its cache, and that of the others. When many agents wake at once, all pollers may
//     wait at the first for a minute, while the tasks time out there and go to the second.
//   - WorkerStopTimeout becomes 2 minutes. When a deploy stops the worker, the calls that are running then have time to end.
//   - Identity becomes a text with a digest of the agent definitions, which no other process has. Without the plugin, the worker would have
//     the identity of the client.
//
// If the namespace has worker heartbeats, the workers of a task queue watch each other: see [Options.HeartbeatTimeout]. A worker knows the
// calls of a lost one by its identity. So if you set Identity, give each process another one. Otherwise the calls of a lost process wait for
// their heartbeat timeout while a process with the same identity runs.
//
// When a worker without a deployment version starts, the plugin reads the identities of the other workers of the task queue.
// It logs a warning for each worker whose digest differs.
//
// The activity workers inherit the options of the worker, such as its interceptors, tuner and pollers, with what the client's plugins
// and the plugins before this one in worker.Options.Plugins have set. These options are not inherited:
//   - Plugins.
//   - DeploymentOptions and UseBuildIDForVersioning, so that an activity worker serves the agents of every version.
//   - TaskQueueActivitiesPerSecond, which is for the worker's own task queue. For a model, it follows from [Model.RequestsPerMinute].
//   - EnableSessionWorker.
//   - The pollers, for a model without a limit on requests. Its activity worker has one poller, because few agents use its task queue.
//
// The metrics handler, the logger and the data converter are those of the client, so all these workers have them.
//
// A tuner is one object for all these workers, so they share its slots. Each of them needs a slot for each of its pollers, also while
// it has no work. A number such as MaxConcurrentActivityExecutionSize applies to each of these workers by itself.
type Plugin struct {
	worker.PluginBase

	temporal client.Client
	options  Options
	current  *activities.Current
	hide     *redact.Redactor // hides the secrets of the options
	late     *lateConverter   // nil if the options have a converter
	closed   sync.Once
	presence *presence.Presence

	mu        sync.Mutex
	tools     *toolbox
	models    map[string]activities.Model
	digests   map[string]string // see [activities.Activities.Digests]
	key       string            // the SDK's instance key of the worker; empty before ConfigureWorker
	taskQueue string            // the task queue of the worker
	versioned bool              // whether the worker has a deployment version
	identity  string            // the identity of the worker
	shared    bool              // whether another process may have the same identity
	undecoded error             // why Options.Converter cannot decode what the client's [ClientPlugin] encodes; nil if it can
	started   bool
	stopped   bool
	others    worker.Options           // the options of the activity workers
	running   map[string]worker.Worker // the activity workers by task queue
	retired   []func()                 // stop MCP servers of earlier configurations; a second call has no effect
	// stopCensus ends the metrics about all agents of the namespace; nil before the worker has started.
	stopCensus func()
}

// New returns a plugin for one worker, which will run the agents of the options `o`. Pass the plugin to the worker in
// worker.Options.Plugins. Create the worker with the same Temporal client. If the worker is never started, call
// [Plugin.Close].
//
// New checks the options, connects to the MCP servers, and makes the definition of each agent once to find mistakes. The
// returned error names the mistakes: it wraps a [*ModelError], [*ServerError] or [*AgentError] for each that belongs to one. New asks
// nothing of Temporal, so a test can check its options with a client of [client.NewLazyClient]. `ctx` limits only New itself: the plugin
// keeps working after `ctx` has ended.
func New(ctx context.Context, temporal client.Client, o Options) (*Plugin, error) {
	if temporal == nil {
		return nil, errors.New("reagent: the Temporal client is nil: pass the client of the worker")
	}
	if err := external.Check(temporal); err != nil {
		return nil, fmt.Errorf("reagent: %w", err)
	}
	o.TaskQueue = cmp.Or(o.TaskQueue, DefaultTaskQueue)
	hide := redact.New(o.secrets()...)
	o.Logger = slog.New(logs.Handler(hide.Handler(cmp.Or(o.Logger, slog.Default()).Handler())))
	if o.HeartbeatTimeout != 0 && o.HeartbeatTimeout < minHeartbeatTimeout {
		return nil, fmt.Errorf("reagent: Options.HeartbeatTimeout is %v: set it to %v or more, or to 0 for the default", o.HeartbeatTimeout, minHeartbeatTimeout)
	}
	if o.Commands == nil {
		o.Commands = hint.Starter{}
	}
	if len(o.Agents) == 0 && o.Lookup == nil {
		return nil, errors.New("reagent: Options.Agents is empty: define an agent")
	}
	o.MCPServers = hidden(o.MCPServers, hide)
	var late *lateConverter
	if o.Converter == nil {
		late = new(lateConverter)
		o.Converter = late
	}
	p := &Plugin{temporal: temporal, options: o, hide: hide, late: late}
	p.presence = presence.New(presence.Options{Temporal: temporal, TaskQueue: o.TaskQueue, Log: o.Logger})
	if err := p.build(ctx); err != nil {
		p.Close()
		return nil, fmt.Errorf("reagent: %w", p.hidden(err))
	}
	return p, nil
}

// build goes on after a mistake, so that its error has all of them.
func (p *Plugin) build(ctx context.Context) error {
	o := p.options
	var modelsErr, toolsErr error
	p.models, modelsErr = o.models(p.hide)
	p.tools, toolsErr = newToolbox(ctx, o, nil)
	made, err := activities.New(activities.Options{
		Temporal: p.temporal, Presence: p.presence, Agents: o.Agents, Models: p.models, Tools: &p.tools.registry, Notify: o.Notify, Callbacks: o.Callbacks, Commands: o.Commands,
		Lookup: o.Lookup, CallerTokens: o.CallerTokens, Development: o.Development, ToolTimeout: o.ToolTimeout, RolloutTimeout: o.RolloutTimeout, ResultsDir: o.ResultsDir, Streamer: o.Streamer, Converter: o.Converter, Log: o.Logger,
		Redact: p.hide.Text, TracerProvider: o.TracerProvider, MeterProvider: o.MeterProvider, TraceContent: o.TraceContent,
	})
	if err == nil {
		p.current = activities.NewCurrent(made)
		p.digests, err = made.Digests(ctx)
	}
	return errors.Join(modelsErr, toolsErr, withoutServers(err))
}

// withoutServers returns an error without the mistakes of agents that only repeat a [*ServerError].
func withoutServers(err error) error {
	return eachPart(err, func(part error) error {
		if errors.As(part, new(*ServerError)) {
			return nil
		}
		return part
	})
}

// hidden hides secrets in an error, also in the text of each mistake that it wraps.
func (p *Plugin) hidden(err error) error {
	return eachPart(err, func(part error) error {
		switch e := part.(type) { //nolint:errorlint // a part wraps no other mistake
		case *AgentError:
			return &AgentError{Agent: e.Agent, Field: e.Field, Err: p.hide.Error(e.Err)}
		case *ModelError:
			return &ModelError{Model: e.Model, Err: p.hide.Error(e.Err)}
		case *ServerError:
			return &ServerError{Server: e.Server, Err: p.hide.Error(e.Err)}
		}
		return p.hide.Error(part)
	})
}

// eachPart replaces each part of an error that [errors.Join] made. A part that becomes nil is left out.
func eachPart(err error, replace func(part error) error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err == nil {
			return nil
		}
		return replace(err)
	}
	var parts []error
	for _, part := range joined.Unwrap() {
		parts = append(parts, eachPart(part, replace))
	}
	return errors.Join(parts...)
}

// Tools returns the names of the worker's tools, grouped by source. The first group has the tools of [Options.Tools]. Each
// MCP server has a group after that.
func (p *Plugin) Tools() []ToolSource {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.tools.sources)
}

// Close stops the MCP servers. Call it only if the worker is never started: the plugin calls Close itself when a started
// worker stops. A second call has no effect.
func (p *Plugin) Close() {
	p.closed.Do(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.tools != nil {
			p.tools.close()
		}
		for _, stop := range p.retired {
			stop()
		}
		if p.stopCensus != nil {
			p.stopCensus()
		}
	})
}

// Name returns the name of the plugin, "reagent", for [worker.Plugin].
func (p *Plugin) Name() string { return "reagent" }

// ConfigureWorker implements [worker.Plugin]. The Temporal SDK calls it when it creates the worker. The comment of [Plugin] lists
// the options that ConfigureWorker sets.
func (p *Plugin) ConfigureWorker(_ context.Context, c worker.PluginConfigureWorkerOptions) error {
	o := c.WorkerOptions
	o.StickyScheduleToStartTimeout = cmp.Or(o.StickyScheduleToStartTimeout, stickyTimeout)
	o.WorkerStopTimeout = cmp.Or(o.WorkerStopTimeout, stopTimeout)
	if o.WorkflowTaskPollerBehavior == nil && o.MaxConcurrentWorkflowTaskPollers == 0 {
		o.WorkflowTaskPollerBehavior = worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{InitialNumberOfPollers: 2})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	shared := o.Identity != ""
	o.Identity = cmp.Or(o.Identity, identity(digest(p.digests)))
	if p.key != "" {
		return nil // StartWorker returns the error about a second worker, because the SDK would panic with an error of ConfigureWorker
	}
	p.identity, p.shared = o.Identity, shared
	p.key, p.taskQueue, p.versioned = c.WorkerInstanceKey, c.TaskQueue, o.DeploymentOptions.UseVersioning
	p.others = activityWorkerOptions(*o)
	return nil
}

// misfit keeps the error for StartWorker, because the SDK would panic with an error of ConfigureWorker.
func (p *Plugin) misfit(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.undecoded = err
}

// StartWorker implements [worker.Plugin]. The Temporal SDK calls it to start the worker. StartWorker registers the workflow
// and the activities, and starts the activity workers: see [Plugin]. Then it calls the function `next`, which starts the
// worker itself. If any of these workers does not start, StartWorker stops the activity workers and returns the error. In Temporal's test
// environment, it starts no activity workers.
func (p *Plugin) StartWorker(
	ctx context.Context, o worker.PluginStartWorkerOptions, next func(context.Context, worker.PluginStartWorkerOptions) error,
) error {
	if err := p.claim(o.WorkerInstanceKey); err != nil {
		return err
	}
	if _, serves := o.WorkerRegistry.(worker.Worker); !serves {
		if _, ok := p.temporal.(interface{ TestEnvironment() }); !ok {
			return errors.New("reagent: the agents would wait for ever in Temporal's test environment, because the client is for a server: call New with the client of reagenttest.Client")
		}
		p.register(o)
		return next(ctx, o) // the test environment runs the activities of all task queues
	}
	if !p.versioned { // workers of two versions differ on purpose
		compareDefinitions(ctx, p.temporal, p.options.TaskQueue, digest(p.digests), p.options.Logger)
	}
	if err := p.presence.Start(ctx, p.identity, p.shared); err != nil {
		p.options.Logger.InfoContext(ctx, "the calls of a lost worker go to another one only after their heartbeat timeout", "error", err)
	}
	p.register(o)
	err := p.startOthers()
	if err == nil {
		err = next(ctx, o)
	}
	if err != nil {
		p.stopOthers()
		p.presence.Stop()
		return err
	}
	p.startCensus()
	return nil
}

// WatchesWorkers reports whether this worker and the others of its task queue see soon that one of them is lost, because the namespace has
// worker heartbeats. It returns false before the worker has started.
func (p *Plugin) WatchesWorkers() bool { return p.presence.On() }

func (p *Plugin) register(o worker.PluginStartWorkerOptions) {
	timeout := p.options.HeartbeatTimeout
	if timeout == 0 && p.presence.On() {
		timeout = workflows.WatchedHeartbeatTimeout
	}
	workflows.New(workflows.Options{
		HeartbeatTimeout: timeout, Commands: p.options.Commands, NoUIContent: p.options.NoUIContent,
		Telemetry: true, TracerProvider: p.options.TracerProvider, MeterProvider: p.options.MeterProvider,
	}).Register(o.WorkerRegistry)
	p.current.Register(o.WorkerRegistry)
}

// claim reserves the plugin for the worker with this instance key of the SDK, because a plugin serves only one worker. It returns
// an error if the plugin belongs to another worker, if it has been started before, or if the worker's task queue is not
// [Options.TaskQueue].
func (p *Plugin) claim(key string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.started || p.key != key:
		return errors.New("reagent: this Plugin was started before, or belongs to another worker: call New once for each worker")
	case p.taskQueue != p.options.TaskQueue:
		return fmt.Errorf("reagent: the worker is on the task queue %q and its agents are on %q: set Options.TaskQueue to the task queue of the worker", p.taskQueue, p.options.TaskQueue)
	}
	if p.undecoded != nil {
		return fmt.Errorf("reagent: Options.Converter cannot decode what the ClientPlugin of the Temporal client encodes: %w; leave out Options.Converter (TEMPORAL_CODEC_ENDPOINT sets that of ClientOptions), or set it to ClientPlugin.Converter", p.undecoded)
	}
	p.started = true
	return nil
}

// startOthers creates and starts the activity workers of the models and the MCP servers: see [Plugin]. After an error, some of them
// may be running, and the caller has to stop them.
func (p *Plugin) startOthers() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.serveQueues(p.options, p.tools, p.models)
}

// serveQueues starts an activity worker for each task queue that has none yet. The caller must hold `p.mu`.
func (p *Plugin) serveQueues(o Options, tools *toolbox, models map[string]activities.Model) error {
	if p.running == nil {
		p.running = map[string]worker.Worker{}
	}
	start := func(queue string, options worker.Options, name string, run any) error {
		if p.running[queue] != nil {
			return nil
		}
		w := newActivityWorker(p.temporal, queue, options, name, run)
		p.running[queue] = w
		if err := w.Start(); err != nil {
			return fmt.Errorf("reagent: start an activity worker: %w", err)
		}
		return nil
	}
	for _, queue := range tools.queues {
		if err := start(queue, p.others, protocol.CallTool, p.current.CallTool); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		options := p.others
		options.TaskQueueActivitiesPerSecond = float64(o.Models[name].RequestsPerMinute) / 60
		if models[name].TaskQueue == "" {
			options.ActivityTaskPollerBehavior, options.MaxConcurrentActivityTaskPollers = nil, 1 // few agents have this queue, or none
		}
		if err := start(protocol.ModelQueue(o.TaskQueue, name), options, protocol.CallModel, p.current.CallModel); err != nil {
			return err
		}
	}
	return nil
}

// StopWorker implements [worker.Plugin]. The Temporal SDK calls it to stop the worker. StopWorker calls the function `next`,
// which stops the worker itself, and stops the activity workers at the same time: see [Plugin]. After that, it stops the MCP servers. If the plugin belongs to another worker, StopWorker only calls `next`.
func (p *Plugin) StopWorker(
	ctx context.Context, o worker.PluginStopWorkerOptions, next func(context.Context, worker.PluginStopWorkerOptions),
) {
	p.mu.Lock()
	own := p.key == o.WorkerInstanceKey
	p.mu.Unlock()
	if !own {
		next(ctx, o)
		return
	}
	var all sync.WaitGroup
	all.Go(p.stopOthers)
	next(ctx, o)
	all.Wait()
	p.presence.Stop() // after the last call, which needs it
	p.Close()
}

func (p *Plugin) stopOthers() {
	p.mu.Lock()
	running := maps.Clone(p.running)
	p.stopped = true
	p.mu.Unlock()
	var all sync.WaitGroup
	for _, w := range running {
		all.Go(w.Stop)
	}
	all.Wait()
}
