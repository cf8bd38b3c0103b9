package serve

import (
	"cmp"
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
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/exporter"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/encryption"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/testkit/fault"
	"github.com/reagent-dev/reagent/workflows"
)

// connectTimeout limits each of two steps of the start: to connect to Temporal and read the namespace, and to read the worker
// deployment.
const connectTimeout = 10 * time.Second

// cloudHeartbeatTimeout is the default of [Options.HeartbeatTimeout] on Temporal Cloud, which bills each heartbeat.
const cloudHeartbeatTimeout = 30 * time.Second

type agentWorker struct {
	cfg              *config.Config
	temporal         client.Client
	converter        converter.DataConverter // nil means that payloads are not encoded
	namespace        string
	address          string
	retention        time.Duration // of the namespace; 0 means unknown
	heartbeatTimeout time.Duration
	dev              bool
	version          deployment
	agents           *reagent.Plugin
	worker           worker.Worker
	export           *exporter.Exporter
	callbacks        *callbackServer // nil if this worker accepts no results by HTTP
	health           *health
	probed           *webServer // answers probes; nil if this worker answers none
	// failed receives an error after which the worker cannot go on. It has room for one error.
	failed chan error
}

// The caller must call [agentWorker.close].
func newWorker(ctx context.Context, cfg *config.Config, o Options, log *slog.Logger, export *exporter.Exporter) (*agentWorker, error) {
	w := &agentWorker{cfg: cfg, dev: o.Dev, export: export, health: newHealth(), failed: make(chan error, 1)}
	if err := w.build(ctx, o, log); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *agentWorker) build(ctx context.Context, o Options, log *slog.Logger) error {
	var err error
	if o.HeartbeatTimeout != 0 && o.HeartbeatTimeout < time.Second {
		return fmt.Errorf("--heartbeat-timeout is %v: set it to 1s or more", o.HeartbeatTimeout)
	}
	if o.CacheAgents < 0 {
		return fmt.Errorf("--cache-agents is %d, which is negative: set it to 1 or more, or leave it out for the default of 10,000", o.CacheAgents)
	}
	if o.CacheAgents > 0 {
		worker.SetStickyWorkflowCacheSize(o.CacheAgents)
	}
	if w.version, err = newDeployment(o); err != nil {
		return err
	}
	accept, err := listenAddress(w.cfg.Callbacks, o.Listen)
	if err != nil {
		return err
	}
	probed := healthAddress(o.HealthListen)
	if probed != "" {
		if w.probed, err = listen(ctx, probed, log); err != nil {
			return fmt.Errorf("health: %w; choose another address with --health-listen or %s, or none", err, HealthEnv)
		}
		w.health.register(w.probed.mux)
		w.probed.serve(w.fail)
	}
	if err := w.connect(ctx, o, log); err != nil {
		return err
	}
	if err := w.version.look(ctx, w.temporal); err != nil {
		return err
	}
	if accept != "" {
		var web *webServer
		if accept == probed {
			web = w.probed
		}
		if w.callbacks, err = newCallbackServer(ctx, web, accept, *w.cfg.Callbacks, w.temporal, w.converter, log); err != nil {
			return err
		}
	}
	options, err := agentOptions(w.cfg, o)
	if err != nil {
		return err
	}
	options.TracerProvider, options.MeterProvider, options.TraceContent = w.export.Tracers(), w.export.Meters(), w.export.Content()
	options.Converter, options.Logger, options.HeartbeatTimeout = w.converter, log, w.heartbeatTimeout
	if w.agents, err = reagent.New(ctx, w.temporal, options); err != nil {
		return located(w.cfg, options.Agents, err)
	}
	w.worker = worker.New(w.temporal, w.cfg.TaskQueue, worker.Options{
		Plugins:           []worker.Plugin{w.agents},
		WorkerStopTimeout: max(o.Drain, time.Nanosecond), // zero would mean the plugin's default of 2 minutes
		OnFatalError:      w.fail,
		DeploymentOptions: w.version.DeploymentOptions,
		Interceptors:      fault.Interceptors(),
	})
	return nil
}

func (w *agentWorker) connect(ctx context.Context, o Options, log *slog.Logger) error {
	opts, err := dial.WorkerOptions(o.Address, o.Namespace)
	if err != nil {
		return err
	}
	opts.Logger, opts.MetricsHandler = sdklog.NewStructuredLogger(log), w.export.MetricsHandler()
	opts.ConnectionOptions.DialOptions = append(opts.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(w.health.polls.intercept))
	opts.ConnectionOptions.DialOptions = append(opts.ConnectionOptions.DialOptions, fault.DialOptions(opts.DataConverter)...)
	w.address, w.namespace, w.converter = opts.HostPort, opts.Namespace, opts.DataConverter
	if w.heartbeatTimeout = o.HeartbeatTimeout; w.heartbeatTimeout == 0 && dial.OnTemporalCloud(opts) {
		w.heartbeatTimeout = cloudHeartbeatTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if w.temporal, err = client.DialContext(ctx, opts); err != nil {
		return dial.Problem(opts.HostPort, err)
	}
	found, err := w.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: opts.Namespace})
	switch {
	case errors.As(err, new(*serviceerror.NamespaceNotFound)):
		return fmt.Errorf("the Temporal server at %s has no namespace %q: create it, or name another namespace with --namespace or TEMPORAL_NAMESPACE", opts.HostPort, opts.Namespace)
	case errors.As(err, new(*serviceerror.PermissionDenied)):
		return nil // a worker must not need the permission to describe the namespace
	case err != nil:
		return fmt.Errorf("describe namespace %s: %w; check the connection to Temporal and the API key or TLS certificate", opts.Namespace, err)
	}
	w.retention = found.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	return nil
}

func (w *agentWorker) fail(err error) {
	w.health.end(reasonFailed)
	select {
	case w.failed <- err:
	default:
	}
}

func (w *agentWorker) start() error {
	if err := w.worker.Start(); err != nil {
		return fmt.Errorf("start the Temporal worker: %w", err)
	}
	if w.callbacks != nil {
		w.callbacks.start(w.fail)
	}
	w.health.serving(w)
	return nil
}

// stop stops the worker. Before that, it waits for the callbacks that are being answered, because the agents that get the results
// may need this worker.
func (w *agentWorker) stop() {
	w.health.end(reasonDraining)
	w.callbacks.stop()
	w.worker.Stop()
}

// close releases the addresses for callbacks and probes, the MCP servers and the connection to Temporal. It does not stop the worker.
func (w *agentWorker) close() {
	w.callbacks.stop()
	if w.agents != nil {
		w.agents.Close()
	}
	if w.temporal != nil {
		w.temporal.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	w.probed.stop(ctx)
}

func (w *agentWorker) greeting() string {
	var b strings.Builder
	takeover := fmt.Sprintf("%v (the namespace has no worker heartbeats)", cmp.Or(w.heartbeatTimeout, workflows.DefaultHeartbeatTimeout))
	if w.agents.WatchesWorkers() {
		takeover = "3s to 4s"
	}
	fmt.Fprintf(&b, "Temporal    %s, namespace %s%s\n", w.address, w.namespace, retention(w.retention))
	fmt.Fprintf(&b, "Task queue  %s\n", w.cfg.TaskQueue)
	fmt.Fprintf(&b, "Heartbeats  a lost worker's calls go to another worker after %s\n", takeover)
	b.WriteString(w.version.greeting(w.address, w.namespace))
	b.WriteString(w.payloadsText())
	b.WriteString(modelsText(w.cfg))
	for _, source := range w.agents.Tools() {
		fmt.Fprintf(&b, "Tools       %s\n", toolsText(source))
	}
	if w.probed != nil {
		fmt.Fprintf(&b, "Health      http://%s%s and %s\n", w.probed.listener.Addr(), readyPath, livePath)
	}
	b.WriteString(callbacksText(w.cfg.Callbacks, w.callbacks))
	for _, name := range slices.Sorted(maps.Keys(w.cfg.Agents)) {
		fmt.Fprintf(&b, "Agent       %s\n", name)
	}
	if w.dev {
		b.WriteString("Development mode: changes of the configuration take effect at once\n")
	}
	b.WriteString("Ready.\n")
	return b.String()
}

func (w *agentWorker) payloadsText() string {
	if w.converter == nil {
		return ""
	}
	for _, codec := range dial.Codecs(w.converter) {
		if keys, ok := codec.(*encryption.Codec); ok {
			return fmt.Sprintf("Payloads    encrypted with the key %s\n", keys.KeyID())
		}
	}
	return "Payloads    pass through a codec server\n"
}

func modelsText(cfg *config.Config) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		m := cfg.Models[name]
		if _, err := modelOf(m); err != nil {
			fmt.Fprintf(&b, "Model       %s: not served, because %v\n", name, err)
			continue
		}
		fmt.Fprintf(&b, "Model       %s: %s at %s\n", name, m.Model, m.BaseURL)
	}
	return b.String()
}

func toolsText(s reagent.ToolSource) string {
	var names []string
	for _, name := range s.Tools {
		names = append(names, printable.Name(name))
	}
	text := cmp.Or(s.Server, "built in") + ": " + strings.Join(names, ", ")
	switch {
	case s.Stateful && s.RunsHere:
		text += " (stateful, runs here)"
	case s.Stateful:
		text += " (stateful, runs in another worker)"
	}
	return text
}

// retention returns a text in parentheses that says how long Temporal keeps ended agents, from the retention of the namespace. If
// that is 0, which means unknown, the text is empty.
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
