// Package serve is a worker process: it runs the workflows, models and tools of a
// configuration until it is told to stop. It is what cmd/worker is made of.
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
	"github.com/reagent-dev/reagent/internal/redact"
)

// Options say what to serve, and where. Empty strings mean what the environment
// or the configuration says.
type Options struct {
	// Config is the file; $REAGENT_CONFIG, else agents.yaml.
	Config    string
	TaskQueue string
	Address   string
	Namespace string
	// Stateful names the stateful MCP servers that run here, with commas between: or "all", or
	// "none".
	Stateful string
	// Deployment and BuildID name the version of the workers; both are empty for workers without one.
	Deployment string
	BuildID    string
	// Pinned keeps the runs of agents on the version on which they began.
	Pinned bool
	// Keep is a folder for results that have arrived and are not reported yet; empty means none.
	Keep string
	// Drain is the time that running calls have to end.
	Drain   time.Duration
	Verbose bool
}

// Run serves until it is told to stop: by a first SIGTERM or Ctrl-C, which lets running
// calls end, and a second, which does not; or by ctx, which ends the start and later drains.
func Run(ctx context.Context, o Options, stdout, stderr io.Writer) error {
	level := slog.LevelWarn
	if o.Verbose {
		level = slog.LevelInfo
	}
	if err := makePrivate(); err != nil {
		return fmt.Errorf("keep other processes from the worker's keys: %w", err)
	}
	path := cmp.Or(o.Config, os.Getenv("REAGENT_CONFIG"), "agents.yaml")
	cfg, err := config.Load(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no configuration file %s: name one with --config; examples/agents.yaml is one to begin with", path)
	}
	if err != nil {
		return err
	}
	if err := cfg.CheckEnvironment(); err != nil {
		return fmt.Errorf("%w: set it in the environment of the worker, or leave out api_key_env for an endpoint that needs no key", err)
	}
	if err := cfg.CheckFiles(); err != nil {
		return err
	}
	hide := redact.Random(cfg.Secrets()...)
	log := slog.New(slog.NewTextHandler(redacting{stderr, hide}, &slog.HandlerOptions{Level: level}))
	cfg.TaskQueue = cmp.Or(o.TaskQueue, cfg.TaskQueue)

	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	// A signal before the worker serves ends the start; one after it drains.
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
	w, err := newWorker(ctx, cfg, o, log)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.worker.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	close(served)
	fmt.Fprint(stdout, w.greeting())

	select {
	case <-early:
	case <-signals:
	case err := <-w.failed:
		return err
	}
	fmt.Fprintf(stdout, "Stopping: running calls have %s to end; once more stops at once.\n", o.Drain)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.worker.Stop()
	}()
	select {
	case <-stopped:
		fmt.Fprintln(stdout, "Stopped.")
		return nil
	case <-signals:
		return errors.New("stopped at once; what was running is taken up by another worker")
	}
}

// redacting is a log whose lines hold no secrets.
type redacting struct {
	io.Writer
	hide *redact.Redactor
}

// Write writes one line of the log.
func (r redacting) Write(line []byte) (int, error) {
	if _, err := io.WriteString(r.Writer, r.hide.Text(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}
