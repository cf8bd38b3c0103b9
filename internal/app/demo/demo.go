// Package demo shows what Reagent promises, on one machine and with one command. An agent answers a question, its worker is
// killed while a tool runs, and no finished work is repeated.
//
// The Temporal server, the worker processes, the MCP server, the files and the kill are real. The model is real if the environment
// names one. If it names none, a stand-in serves the replies over HTTP, and says that it is a stand-in.
package demo

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	sdk "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/encryption"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
	"github.com/reagent-dev/reagent/internal/weblink"
)

// Options are the options of [Run]. The fields `Worker`, `Out` and `Printer` are required.
type Options struct {
	// Worker is the command that starts a worker. The demo adds the flags `--config` and `--address`. The process must end
	// when its standard input is closed. Required.
	Worker []string
	// KeepRunning leaves the server and the worker running until the context ends.
	KeepRunning bool
	// Offline uses the stand-in, a script that plays a model, even if the environment names a model.
	Offline bool
	// Out receives the demo's output for people. This writer must escape terminal control characters and be safe for
	// concurrent use. Required.
	Out io.Writer
	// Printer returns a function that the demo calls with each value that [client.Client.Watch] yields for one agent. The
	// function must print the value to `w`, in whole lines. Required.
	Printer func(w io.Writer) func(client.Progress)
	// Done is called with the summary when the agent has ended or is held (stopped by a failure). If `KeepRunning` is set, the demo
	// begins to wait after the call. If Done returns an error, [Run] returns this error. Done may be nil.
	Done func(Summary) error
}

const (
	guideAgent = "guide"
	question   = "What is in this folder? Look into one of its files, publish one sentence on it, and measure the folder."
)

// configuration is the template of the configuration file for the workers. It contains variables such as $MODEL.
//
//go:embed agents.yaml
var configuration string

type demo struct {
	Options
	summary Summary
	began   time.Time
	killed  time.Time // when the worker was killed

	model  *model
	tools  *toolServer
	server *devserver.Server
	client *client.Client
	config string // the path of the workers' configuration
	worker *worker
	// followed has the IDs of the sub-agents whose messages have been printed.
	followed map[string]bool
}

// Run runs the demo: an agent answers a question, and its worker process is killed and replaced while a tool runs. The
// summary shows whether finished work was repeated. After an error, the summary has the values known so far.
//
// If [Options].KeepRunning is set, Run then waits until the context ends, and returns nil. When Run returns, it has stopped its
// processes and removed its files. If Run had to fetch or build a Temporal CLI, this program stays in the cache; see
// [devserver.CacheDir].
func Run(ctx context.Context, o Options) (Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := &demo{Options: o, began: time.Now(), followed: map[string]bool{}}
	err := d.run(ctx)
	return d.summary, err
}

func (d *demo) run(ctx context.Context) error {
	folder, file, err := fileHere()
	if err != nil {
		return err
	}
	d.printf("Reagent demo: an agent, a kill -9, and no finished work repeated\n\n")
	if d.model, err = startModel(ctx, d.Offline, file); err != nil {
		return err
	}
	d.summary.StandIn, d.summary.ModelName = d.model.standIn, d.model.name
	d.ready("Model", d.model.about)
	if d.tools, err = startToolServer(ctx, folder); err != nil {
		return err
	}
	d.ready("Tools", "an MCP server with publish and measure, and files below "+folder)

	d.printf("… Temporal starts\n")
	if d.server, err = devserver.Start(ctx, devserver.Options{Progress: d.Out, SearchAttributes: protocol.AttributeTypes()}); err != nil {
		return err
	}
	defer d.server.Stop()
	temporal, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer temporal.Close()
	d.ready("Temporal", d.server.Address())
	d.ready("Web UI", d.server.UIURL()+" (while the demo runs)")

	defer func() { d.worker.stop() }()
	dir, err := os.MkdirTemp("", "reagent-demo-")
	if err != nil {
		return fmt.Errorf("create a folder for the demo's configuration: %w; set TMPDIR to a folder that can be written", err)
	}
	// Remove the folder first. A second Ctrl-C ends this program at once, and only the processes then end by themselves.
	defer os.RemoveAll(dir)
	d.config = filepath.Join(dir, "agents.yaml")
	values := map[string]string{"MODEL": d.model.name, "TOOLS_URL": d.tools.url, "FOLDER": folder}
	text := os.Expand(configuration, func(name string) string { return strconv.Quote(values[name]) })
	if err := os.WriteFile(d.config, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the demo's configuration: %w", err)
	}
	if err := d.startWorker(ctx, "a process of its own"); err != nil {
		return err
	}
	if err := d.runGuide(ctx); err != nil {
		return err
	}
	d.summary.show(d.Out)
	if d.Done != nil {
		if err := d.Done(d.summary); err != nil {
			return err
		}
	}
	return d.keep(ctx)
}

// connect makes the client. Like the workers, it encrypts with the keys of the environment, if there are any.
func (d *demo) connect(ctx context.Context) (sdk.Client, error) {
	keys, err := encryption.FromEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	o := sdk.Options{
		HostPort: d.server.Address(), Namespace: d.server.Namespace(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}
	if keys != nil {
		dial.Encode(&o, dial.Encoded(keys.Codec))
	}
	temporal, err := sdk.DialContext(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s: %w", d.server.Address(), err)
	}
	d.client = client.New(temporal, "").WithConverter(o.DataConverter)
	return temporal, nil
}

func (d *demo) startWorker(ctx context.Context, remark string) (err error) {
	command := append(slices.Clone(d.Worker), "--config", d.config, "--address", d.server.Address())
	if d.worker, err = startWorker(ctx, command, d.model.url); err != nil {
		return err
	}
	d.summary.Workers = append(d.summary.Workers, d.worker.pid())
	d.ready("Worker", fmt.Sprintf("process %d, %s", d.worker.pid(), remark))
	return nil
}

// runGuide asks the agent the question, and returns when the agent has ended or is held. It completes the summary.
func (d *demo) runGuide(ctx context.Context) error {
	started, err := d.client.Start(ctx, client.StartOptions{Agent: guideAgent, Message: question})
	if err != nil {
		return err
	}
	s := &d.summary
	s.AgentID = started.ID
	s.WebUI = weblink.Agent(d.server.UIURL(), d.server.Namespace(), started.ID)
	d.ready("Agent", started.ID)
	d.printf("  see it work at %s\n\n", s.WebUI)
	if err := d.follow(ctx, started.ID, guideAgent); err != nil {
		return err
	}
	end, err := d.client.ShowRecorded(ctx, started.ID)
	s.Status, s.Answer, s.Failure = end.Status, end.Answer, end.Failure
	s.Model, s.Publish, s.Measure = d.model.count(), d.tools.published.count(), d.tools.measured.count()
	s.Repeated = s.Model.Repeated + s.Publish.Again
	return err
}

// keep waits until the context ends if [Options].KeepRunning is set. It returns an error if the server or the worker ends by itself
// before that.
func (d *demo) keep(ctx context.Context) error {
	if !d.KeepRunning {
		d.printf("\nThe Web UI ends with the demo; `starter demo --keep-running` leaves it running.\n")
		return nil
	}
	d.printf("\nWeb UI    %s\nAll of it runs on until Ctrl-C. In another terminal:\n", d.summary.WebUI)
	d.printf("  go run ./cmd/%s\n", shellword.Starter("show", d.summary.AgentID).With("--address "+d.server.Address()))
	d.printf("  go run ./cmd/%s\n", shellword.Starter("run").With("--address "+d.server.Address()+" -a "+guideAgent).Then("'What is here?'"))
	select {
	case <-ctx.Done():
		return nil
	case <-d.server.Done():
		return d.server.Err()
	case <-d.worker.done:
		if ctx.Err() != nil { // the worker ends with ctx
			return nil //nolint:nilerr // the normal end
		}
		return d.worker.failure()
	}
}

func (d *demo) ready(part, text string) { d.printf("✓ %-9s %s\n", part, text) }

func (d *demo) printf(format string, args ...any) { fmt.Fprintf(d.Out, format, args...) }
