package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/fault"
	"github.com/reagent-dev/reagent/internal/redact"
	"github.com/reagent-dev/reagent/llm/openai"
	"github.com/reagent-dev/reagent/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

const (
	// connectTimeout bounds the first contact with Temporal.
	connectTimeout = 10 * time.Second
	// stickyTimeout is the time that a workflow task waits for a worker that died
	// before another gets it. Temporal's default of 5 seconds is for bigger caches.
	stickyTimeout = time.Second
)

// agentWorker is a worker process: one Temporal worker for the agents, and one
// more for each stateful MCP server that runs here.
type agentWorker struct {
	cfg       *config.Config
	temporal  client.Client
	converter converter.DataConverter
	namespace string
	address   string
	retention time.Duration
	version   deployment
	hide      *redact.Redactor
	tools     *toolbox
	workers   []worker.Worker
	// failed gets an error that the worker cannot go on after.
	failed chan error
}

func newWorker(ctx context.Context, cfg *config.Config, o Options, hide *redact.Redactor, log *slog.Logger) (*agentWorker, error) {
	w := &agentWorker{cfg: cfg, hide: hide, failed: make(chan error, 1)}
	if err := w.build(ctx, o, log); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *agentWorker) build(ctx context.Context, o Options, log *slog.Logger) error {
	var err error
	if w.version, err = newDeployment(o); err != nil {
		return err
	}
	if err := w.connect(ctx, o, log); err != nil {
		return err
	}
	if err := w.version.look(ctx, w.temporal); err != nil {
		return err
	}
	cfg := w.cfg
	models := map[string]activities.Model{}
	for name, m := range cfg.Models {
		if !used(cfg, name) {
			continue
		}
		key, err := m.APIKey()
		if err != nil {
			return fmt.Errorf("model %s: %w", name, err)
		}
		c, err := openai.New(openai.Options{
			Name: name, Provider: m.Provider, BaseURL: m.BaseURL, APIKey: key,
			Timeout: m.Timeout, IdleTimeout: m.IdleTimeout, NoStream: m.NoStream, SendReasoning: m.SendReasoning,
		})
		if err != nil {
			return fmt.Errorf("model %s: %w", name, err)
		}
		models[name] = activities.Model{
			Client: c, Model: m.Model, Params: m.Params, Price: m.Price, SendReasoning: m.SendReasoning,
			Queue: modelQueue(cfg, name), TokensPerMinute: m.TokensPerMinute,
		}
	}
	if w.tools, err = newToolbox(ctx, cfg, o.Stateful, log); err != nil {
		return err
	}
	doing, err := activities.New(activities.Options{
		Temporal: w.temporal, Agents: definitions(cfg), Models: models, Tools: w.tools.registry, Converter: w.converter, Log: log,
		KeepDir: o.Keep, Redact: w.hide.Text,
	})
	if err != nil {
		return err
	}
	digest, err := doing.Digest(ctx)
	if err != nil {
		return err
	}
	if !w.version.UseVersioning { // workers of two versions differ on purpose
		w.compare(ctx, digest, log)
	}
	options := worker.Options{
		Identity:                     identity(digest),
		WorkerStopTimeout:            o.Drain,
		StickyScheduleToStartTimeout: stickyTimeout,
		OnFatalError:                 w.fail,
		DeploymentOptions:            w.version.DeploymentOptions,
		Interceptors:                 fault.Interceptors(),
	}
	agents := worker.New(w.temporal, cfg.TaskQueue, options)
	workflows.New(workflows.Options{}).Register(agents)
	doing.Register(agents)
	w.workers = append(w.workers, agents)
	options.DisableWorkflowWorker = true
	// What a stateful server holds belongs to its one process, whichever version the agents have that call it.
	options.DeploymentOptions = worker.DeploymentOptions{}
	for _, queue := range w.tools.queues {
		tools := worker.New(w.temporal, queue, options)
		tools.RegisterActivityWithOptions(doing.CallTool, activity.RegisterOptions{Name: protocol.CallTool})
		w.workers = append(w.workers, tools)
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if queue := models[name].Queue; queue != "" {
			limited := options
			limited.TaskQueueActivitiesPerSecond = float64(cfg.Models[name].RequestsPerMinute) / 60
			asks := worker.New(w.temporal, queue, limited)
			asks.RegisterActivityWithOptions(doing.CallModel, activity.RegisterOptions{Name: protocol.CallModel})
			w.workers = append(w.workers, asks)
		}
	}
	return nil
}

// modelQueue is the task queue of a model whose requests are limited: Temporal gives out its tasks
// no faster, whatever the number of workers.
func modelQueue(cfg *config.Config, model string) string {
	if cfg.Models[model].RequestsPerMinute == 0 {
		return ""
	}
	return cfg.TaskQueue + ".model." + model
}

// connect dials Temporal and reads what a person should know of the namespace.
func (w *agentWorker) connect(ctx context.Context, o Options, log *slog.Logger) error {
	opts, err := config.WorkerOptions(o.Address, o.Namespace)
	if err != nil {
		return err
	}
	opts.Logger = sdklog.NewStructuredLogger(log)
	opts.ConnectionOptions.DialOptions = append(opts.ConnectionOptions.DialOptions, fault.DialOptions(opts.DataConverter)...)
	w.address, w.namespace, w.converter = opts.HostPort, opts.Namespace, opts.DataConverter
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if w.temporal, err = client.DialContext(ctx, opts); err != nil {
		return fmt.Errorf("no Temporal at %s: start one with `go run ./cmd/starter dev`, or set TEMPORAL_ADDRESS (%w)", opts.HostPort, err)
	}
	found, err := w.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: opts.Namespace})
	var missing *serviceerror.NamespaceNotFound
	var denied *serviceerror.PermissionDenied
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("the Temporal server at %s has no namespace %q: create it, or name another with --namespace or TEMPORAL_NAMESPACE", opts.HostPort, opts.Namespace)
	case errors.As(err, &denied):
		// Describing the namespace is not among what a worker has to be allowed to do.
		return nil
	case err != nil:
		return fmt.Errorf("look at namespace %s: %w", opts.Namespace, err)
	}
	w.retention = found.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	return nil
}

func used(cfg *config.Config, model string) bool {
	for _, a := range cfg.Agents {
		if slices.Contains(a.Models(), model) {
			return true
		}
	}
	return false
}

func definitions(cfg *config.Config) []activities.Agent {
	var all []activities.Agent
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
		a := cfg.Agents[name]
		all = append(all, activities.Agent{
			Name: name, Description: a.Description, Model: a.Model, Fallback: a.Fallback,
			Instructions: a.Instructions, OutputSchema: a.OutputSchema,
			Tools: a.Tools, Agents: a.Agents, KeepAgents: a.KeepAgents,
			Limits: a.Limits,
		})
	}
	return all
}

func (w *agentWorker) start() error {
	for _, each := range w.workers {
		if err := each.Start(); err != nil {
			return fmt.Errorf("start: %w", err)
		}
	}
	return nil
}

func (w *agentWorker) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
}

// stop takes no more work and waits for what is running.
func (w *agentWorker) stop() {
	var all []chan struct{}
	for _, each := range w.workers {
		done := make(chan struct{})
		all = append(all, done)
		go func() {
			defer close(done)
			each.Stop()
		}()
	}
	for _, done := range all {
		<-done
	}
}

func (w *agentWorker) close() {
	if w.tools != nil {
		w.tools.close()
	}
	if w.temporal != nil {
		w.temporal.Close()
	}
}

// greeting says what is served, so that a person sees at once what is missing.
func (w *agentWorker) greeting() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Temporal    %s, namespace %s%s\n", w.address, w.namespace, retention(w.retention))
	fmt.Fprintf(&b, "Task queue  %s\n", w.cfg.TaskQueue)
	b.WriteString(w.version.greeting(w.address, w.namespace))
	if w.converter != nil {
		b.WriteString("Payloads    pass through a codec server\n")
	}
	for _, name := range slices.Sorted(maps.Keys(w.cfg.Models)) {
		if m := w.cfg.Models[name]; used(w.cfg, name) {
			fmt.Fprintf(&b, "Model       %s: %s at %s\n", name, m.Model, m.BaseURL)
		}
	}
	for _, line := range w.tools.lines {
		fmt.Fprintf(&b, "Tools       %s\n", line)
	}
	for _, name := range slices.Sorted(maps.Keys(w.cfg.Agents)) {
		fmt.Fprintf(&b, "Agent       %s\n", name)
	}
	b.WriteString("Ready.\n")
	return b.String()
}

func retention(d time.Duration) string {
	if d == 0 {
		return ""
	}
	hours := int(d.Hours())
	if hours >= 48 && hours%24 == 0 {
		return fmt.Sprintf(" (keeps ended agents for %d days)", hours/24)
	}
	return fmt.Sprintf(" (keeps ended agents for %d hours)", hours)
}
