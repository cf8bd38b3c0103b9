package reagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/llm/openai"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

const (
	// stickyTimeout is the time that a workflow task waits for a worker that died before another gets it. The SDK's default of 5
	// seconds is for bigger caches.
	stickyTimeout = time.Second
	// stopTimeout is the time that running calls have to end when a worker stops.
	stopTimeout = 2 * time.Minute
)

// Plugin puts agents into a worker: it registers their workflow and activities when the worker starts, serves the task queues of
// rate-limited models and stateful MCP servers beside it, and ends what it has begun when the worker stops. In the worker's options it
// sets what is not set: StickyScheduleToStartTimeout to 1 second, so that agents of a worker that died go on soon; WorkerStopTimeout to 2
// minutes, so that a deploy interrupts no call; and Identity, which then names the definitions and hides the Identity of the client. Only
// workers with such an Identity warn about others that define their agents differently.
//
// The workers beside have the Identity, WorkerStopTimeout, OnFatalError, BackgroundActivityContext and the limits of activities of the
// worker, and none of its interceptors. A Plugin is for one worker.
type Plugin struct {
	worker.PluginBase

	temporal   client.Client
	options    Options
	tools      *toolbox
	activities *activities.Activities
	models     map[string]activities.Model
	digest     string

	mu        sync.Mutex
	key       string // the worker's instance key
	taskQueue string
	worker    worker.Options // of the workers beside
	versioned bool
	started   bool
	beside    []worker.Worker // for the task queues beside the worker's own
	closed    sync.Once
}

// New checks the options, connects the MCP servers and defines each agent once, so that a mistake is found here and not when somebody
// starts the agent. The error names all that is wrong. Ctx limits the time of this only. The Temporal client is the one of the worker.
//
// A Plugin whose worker never started has to be closed with [Plugin.Close].
func New(ctx context.Context, temporal client.Client, o Options) (*Plugin, error) {
	if temporal == nil {
		return nil, errors.New("reagent: the Temporal client is nil")
	}
	o.TaskQueue = cmp.Or(o.TaskQueue, DefaultTaskQueue)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if len(o.Agents) == 0 {
		return nil, errors.New("reagent: Options.Agents is empty: define an agent")
	}
	p := &Plugin{temporal: temporal, options: o}
	if err := p.build(ctx); err != nil {
		p.Close()
		return nil, fmt.Errorf("reagent: %w", err)
	}
	return p, nil
}

func (p *Plugin) build(ctx context.Context) error {
	o := p.options
	var err error
	if p.models, err = o.models(); err != nil {
		return err
	}
	if p.tools, err = newToolbox(ctx, o); err != nil {
		return err
	}
	p.activities, err = activities.New(activities.Options{
		Temporal: p.temporal, Agents: o.definitions(), Models: p.models, Tools: &p.tools.registry,
		ToolTimeout: o.ToolTimeout, KeepDir: o.KeepDir, Streamer: o.Streamer, Converter: o.Converter, Log: o.Logger,
		Redact: redact.New(o.secrets()...).Text,
	})
	if err != nil {
		return err
	}
	p.digest, err = p.activities.Digest(ctx)
	return err
}

// Tools tells which tools the worker has, and where they come from.
func (p *Plugin) Tools() []ToolSource { return slices.Clone(p.tools.sources) }

// Close ends the MCP servers. A worker that stops does it by itself.
func (p *Plugin) Close() {
	p.closed.Do(func() {
		if p.tools != nil {
			p.tools.close()
		}
	})
}

// Name is part of [worker.Plugin].
func (p *Plugin) Name() string { return "reagent" }

// ConfigureWorker sets options of the worker that are not set.
func (p *Plugin) ConfigureWorker(_ context.Context, c worker.PluginConfigureWorkerOptions) error {
	o := c.WorkerOptions
	o.StickyScheduleToStartTimeout = cmp.Or(o.StickyScheduleToStartTimeout, stickyTimeout)
	o.WorkerStopTimeout = cmp.Or(o.WorkerStopTimeout, stopTimeout)
	o.Identity = cmp.Or(o.Identity, identity(p.digest))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key != "" {
		return nil // it is not for this worker, which will not start
	}
	p.key, p.taskQueue = c.WorkerInstanceKey, c.TaskQueue
	// Plugins of the client change the options of the workers beside, too, so what they have changed is not copied.
	p.worker = worker.Options{
		Identity: o.Identity, WorkerStopTimeout: o.WorkerStopTimeout, OnFatalError: o.OnFatalError, BackgroundActivityContext: o.BackgroundActivityContext,
		MaxConcurrentActivityExecutionSize: o.MaxConcurrentActivityExecutionSize, WorkerActivitiesPerSecond: o.WorkerActivitiesPerSecond,
	}
	p.versioned = o.DeploymentOptions.UseVersioning
	return nil
}

// StartWorker registers workflow and activities, and starts the workers of the task queues beside.
func (p *Plugin) StartWorker(
	ctx context.Context, o worker.PluginStartWorkerOptions, next func(context.Context, worker.PluginStartWorkerOptions) error,
) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started || p.key != o.WorkerInstanceKey {
		return errors.New("reagent: a Plugin is for one worker: call New for each")
	}
	if p.taskQueue != p.options.TaskQueue { // an error of ConfigureWorker would be a panic of the SDK
		return fmt.Errorf("reagent: the worker is on the task queue %q and its agents are on %q: set Options.TaskQueue", p.taskQueue, p.options.TaskQueue)
	}
	p.started = true
	if !p.versioned { // workers of two versions differ on purpose
		compareDefinitions(ctx, p.temporal, p.options.TaskQueue, p.digest, p.options.Logger)
	}
	workflows.New(workflows.Options{}).Register(o.WorkerRegistry)
	p.activities.Register(o.WorkerRegistry)
	err := p.startBeside()
	if err == nil {
		err = next(ctx, o)
	}
	if err != nil {
		p.stopBeside()
	}
	return err
}

// startBeside starts the workers of stateful MCP servers that run here, and of models with a rate.
func (p *Plugin) startBeside() error {
	options := p.worker
	// They have no version: what a stateful server holds belongs to its one process, whichever version the agents have that call it.
	options.DisableWorkflowWorker = true
	for _, queue := range p.tools.queues {
		tools := worker.New(p.temporal, queue, options)
		tools.RegisterActivityWithOptions(p.activities.CallTool, activity.RegisterOptions{Name: protocol.CallTool})
		p.beside = append(p.beside, tools)
	}
	for _, name := range slices.Sorted(maps.Keys(p.models)) {
		queue := p.models[name].Queue
		if queue == "" {
			continue
		}
		limited := options
		limited.TaskQueueActivitiesPerSecond = float64(p.options.Models[name].RequestsPerMinute) / 60
		asks := worker.New(p.temporal, queue, limited)
		asks.RegisterActivityWithOptions(p.activities.CallModel, activity.RegisterOptions{Name: protocol.CallModel})
		p.beside = append(p.beside, asks)
	}
	for _, each := range p.beside {
		if err := each.Start(); err != nil {
			return fmt.Errorf("reagent: start: %w", err)
		}
	}
	return nil
}

// StopWorker stops the worker and those beside it, all at once, and then ends the MCP servers.
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
	all.Go(p.stopBeside)
	next(ctx, o)
	all.Wait()
	p.Close()
}

func (p *Plugin) stopBeside() {
	var all sync.WaitGroup
	for _, each := range p.beside {
		all.Go(each.Stop)
	}
	all.Wait()
}

// models returns the models that an agent uses.
func (o Options) models() (map[string]activities.Model, error) {
	var problems []error
	for _, a := range o.Agents {
		for _, name := range append([]string{o.modelOf(a)}, a.Fallback...) {
			if _, known := o.Models[name]; !known {
				problems = append(problems, fmt.Errorf("agent %s: there is no model %q: set Agent.Model to one of %v", a.Name, name, slices.Sorted(maps.Keys(o.Models))))
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	models := map[string]activities.Model{}
	for name, m := range o.Models {
		if !slices.ContainsFunc(o.Agents, func(a Agent) bool { return o.modelOf(a) == name || slices.Contains(a.Fallback, name) }) {
			continue
		}
		made := activities.Model{
			Client: m.Client, Model: m.Name, Params: m.Params, Price: m.Price, SendReasoning: m.SendReasoning, TokensPerMinute: m.TokensPerMinute,
		}
		if m.RequestsPerMinute > 0 {
			made.Queue = o.TaskQueue + ".model." + name
		}
		if m.Name == "" {
			return nil, fmt.Errorf("model %s: Model.Name is empty: set it to the provider's name of the model", name)
		}
		if made.Client == nil {
			var err error
			made.Client, err = openai.New(openai.Options{
				Name: name, BaseURL: m.BaseURL, APIKey: m.APIKey, Headers: m.Headers, Timeout: m.Timeout, IdleTimeout: m.IdleTimeout,
				NoStream: m.NoStream, SendReasoning: m.SendReasoning,
			})
			if err != nil {
				return nil, fmt.Errorf("model %s: %w", name, err)
			}
		}
		models[name] = made
	}
	return models, nil
}

// modelOf returns the name of the agent's first model.
func (o Options) modelOf(a Agent) string {
	if a.Model == "" && len(o.Models) == 1 {
		for name := range o.Models {
			return name
		}
	}
	return a.Model
}

func (o Options) definitions() []activities.Agent {
	var all []activities.Agent
	for _, a := range o.Agents {
		all = append(all, activities.Agent{
			Name: a.Name, Description: a.Description, Model: o.modelOf(a), Fallback: a.Fallback, Instructions: a.Instructions,
			Tools: a.Tools, Agents: a.Agents, KeepAgents: a.KeepAgents, OutputSchema: a.OutputSchema, Limits: a.Limits,
		})
	}
	return all
}

// secrets returns the texts to hide: all that Options.Secrets names, and of the others those that look random, also the words of a text
// that has several, such as "Bearer …".
func (o Options) secrets() []string {
	var secrets []string
	for _, m := range o.Models {
		secrets = append(secrets, m.APIKey)
		secrets = slices.AppendSeq(secrets, maps.Values(m.Headers))
	}
	for _, s := range o.MCPServers {
		secrets = slices.AppendSeq(slices.AppendSeq(secrets, maps.Values(s.Env)), maps.Values(s.Headers))
		if u, err := url.Parse(s.URL); err == nil {
			for _, values := range u.Query() {
				secrets = append(secrets, values...)
			}
		}
	}
	for _, secret := range slices.Clone(secrets) {
		secrets = append(secrets, strings.Fields(secret)...)
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return !redact.LooksRandom(strings.TrimSpace(s)) })
	return append(secrets, o.Secrets...)
}
