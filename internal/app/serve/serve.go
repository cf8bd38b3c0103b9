// Package serve runs a worker process. The worker serves the workflows, models and tools of a configuration until it is told to
// stop. The program cmd/worker and the demo use this package.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/app/exporter"
	"github.com/reagent-dev/reagent/internal/encryption"
	"github.com/reagent-dev/reagent/internal/logs"
	"github.com/reagent-dev/reagent/internal/redact"
)

// Options say what a worker serves, and where. For an empty string, the value comes from the environment or from the configuration,
// unless the field says something else.
type Options struct {
	// Config is the path of the configuration file. Defaults to $REAGENT_CONFIG, else agents.yaml.
	Config string
	// TaskQueue is the name of the task queue. Defaults to the task queue in the configuration.
	TaskQueue string
	// Address is the address of Temporal. See [dial.WorkerOptions] for the default.
	Address string
	// Namespace is the Temporal namespace. See [dial.WorkerOptions] for the default.
	Namespace string
	// Stateful says which stateful MCP servers run here: "all", "none", or their names with commas between. Required, even
	// without a stateful server.
	Stateful string
	// Listen is the address, as host:port, at which the worker accepts the results of external calls. "none" means that it accepts none.
	// Defaults to callbacks.listen of the configuration.
	Listen string
	// HealthListen is the address, as host:port, at which the worker answers probes: /healthz and /readyz. It may be that of the callbacks.
	// Defaults to [HealthEnv]. Empty or "none" means that it answers none.
	HealthListen string
	// Deployment is the name of the worker deployment. It is empty for a worker without a version.
	Deployment string
	// BuildID names the version within the worker deployment. It is empty for a worker without a version.
	BuildID string
	// Pinned keeps each run of an agent on the worker version on which the run began. It needs `Deployment` and `BuildID`.
	Pinned bool
	// ResultsDir is a folder for the results of calls that the worker has received and Temporal does not have yet. After a crash, a
	// new worker process uses these results. If ResultsDir is empty, the worker holds them in memory only.
	ResultsDir string
	// HeartbeatTimeout is the heartbeat timeout of model calls and tool calls: see [reagent.Options.HeartbeatTimeout]. It must be at least
	// 1 second. Zero means 30 seconds on Temporal Cloud, and elsewhere the plugin's default.
	HeartbeatTimeout time.Duration
	// CacheAgents is the number of agents that the worker holds in memory after it has run them, for all workers of this process.
	// Zero means the default of Temporal's SDK, 10,000.
	CacheAgents int
	// Drain is how long running calls may take to end after the first signal. Zero stops the calls at once.
	Drain time.Duration
	// Dev is the development mode: the worker takes a changed configuration while it runs, and accepts overrides that are more than a
	// definition allows: see [reagent.Options].Development.
	Dev bool
	// Log says how the worker logs.
	Log LogOptions
}

// Run runs a worker for the agents of a configuration until SIGTERM or SIGINT (Ctrl-C) arrives. The worker then takes no new work,
// and waits up to [Options].Drain for the running calls to end. Then Run returns nil. A second signal makes Run return an error at
// once. If an error stops the worker, Run returns this error.
//
// If the context ends or a signal arrives before the worker has connected to Temporal, Run returns an error. After the worker
// has started, the end of the context has no effect.
func Run(ctx context.Context, o Options, stdout, stderr io.Writer) error {
	if err := o.Log.check(); err != nil {
		return err
	}
	if err := makePrivate(); err != nil {
		return fmt.Errorf("hide the worker's keys from other processes: %w", err)
	}
	path := pathOf(o.Config)
	cfg, err := load(path, o)
	if err != nil {
		return err
	}
	// The keys come before the list of secrets, because those of a command are known only then.
	if _, err := encryption.FromEnvironment(ctx); err != nil {
		return err
	}
	hide := redact.Random(cfg.Secrets()...)
	log := slog.New(logs.Handler(hide.Handler(o.Log.handler(stderr))))
	slog.SetDefault(log) // for packages that log without a logger of their own

	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	// A signal before the worker serves cancels the start. A later signal starts the drain.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	early := make(chan struct{})
	served := make(chan struct{})
	go func() {
		select {
		case <-signals:
			close(early)
			cancel()
		case <-served:
		}
	}()
	export, err := exporter.New(ctx, exporter.Options{Program: "reagent-worker", Metrics: true})
	if err != nil {
		return err
	}
	export.Log(log)
	defer func() {
		if err := export.Close(ctx); err != nil {
			log.Warn("some telemetry could not be exported", "error", err)
		}
	}()
	w, err := newWorker(ctx, cfg, o, log, export)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.start(); err != nil {
		return err
	}
	close(served)
	fmt.Fprint(stdout, w.greeting())
	stopWatching := func() {}
	if o.Dev {
		said := stderr
		if o.Log.JSON() {
			said = slog.NewLogLogger(log.Handler(), slog.LevelWarn).Writer() // so that each line is an entry
		}
		stopWatching = newWatch(w, path, o, hide, said).start()
	}

	select {
	case <-early:
	case <-signals:
	case err := <-w.failed:
		stopWatching()
		return err
	}
	stopWatching()
	fmt.Fprintf(stdout, "Stopping: running calls have %s to end; a second signal stops the worker at once.\n", o.Drain)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.stop()
	}()
	select {
	case <-stopped:
		fmt.Fprintln(stdout, "Stopped.")
		return nil
	case <-signals:
		return errors.New("stopped at once by a second signal; its agents go on as soon as a worker runs")
	}
}

// pathOf returns the path of the configuration file: see [Options].Config.
func pathOf(option string) string { return cmp.Or(option, os.Getenv("REAGENT_CONFIG"), "agents.yaml") }

// parse reads a configuration file.
func parse(path string) (*config.Config, error) {
	cfg, err := config.Load(path)
	return cfg, unread(path, err)
}

// unread names the flag in the error about a missing file. It returns any other error as it is.
func unread(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no configuration file %s: name one with --config, for example examples/agents.yaml", path)
	}
	return err
}

// load reads and checks a configuration, with the task queue of the options.
func load(path string, o Options) (*config.Config, error) {
	cfg, err := parse(path)
	if err != nil {
		return nil, err
	}
	cfg.TaskQueue = cmp.Or(o.TaskQueue, cfg.TaskQueue)
	return cfg, errors.Join(cfg.CheckTools(), cfg.CheckEnvironment(), cfg.CheckFiles())
}
