// Package demo shows what Reagent promises, on one machine and with one command. An agent answers a question, its worker is
// killed while a tool runs, and no finished work is repeated.
//
// The Temporal server, the worker processes, the MCP server, the files and the kill are real. The model is real if the
// environment names one. Otherwise a stand-in serves the replies over HTTP, and says that it is a stand-in.
package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"
	sdk "go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/devserver"
)

// Options say how to run the demo.
type Options struct {
	// Worker is the command that starts a worker. The demo adds --config and --address. The process must end when its standard
	// input is closed. Required.
	Worker []string
	// Keep leaves the server and the worker running until the context ends.
	Keep bool
	// Plain turns off colours and the live line. They are always off if Out is not a terminal.
	Plain bool
	// Offline uses the stand-in even if the environment names a model.
	Offline bool
	// Out receives the text for people. Required.
	Out io.Writer
	// Done receives the summary when the agent has ended or is held, before Keep begins to wait. Run returns its error. Nil means
	// no call.
	Done func(Summary) error
}

// Run runs the demo. It leaves no process and no folder when it returns. After an error, the summary has the values known so far.
// With Keep, Run returns nil when ctx ends.
func Run(ctx context.Context, o Options) (Summary, error) {
	d := &demo{Options: o, screen: newScreen(o.Out, o.Plain)}
	defer d.stop()
	if err := d.prepare(ctx); err != nil {
		return d.summary, err
	}
	if err := d.play(ctx); err != nil {
		return d.summary, err
	}
	d.summary.show(d.screen, o.Keep)
	if o.Done != nil {
		if err := o.Done(d.summary); err != nil {
			return d.summary, err
		}
	}
	if o.Keep {
		return d.summary, d.keep(ctx)
	}
	return d.summary, nil
}

// demo holds the parts of a running demo.
type demo struct {
	Options
	screen  *screen
	about   subject
	dir     string
	config  string
	model   *model
	desk    *toolServer
	server  *devserver.Server
	sdk     sdk.Client
	client  *client.Client
	worker  *process
	summary Summary
}

// prepare starts everything that the agent needs: the model, the tool server, Temporal and a worker.
func (d *demo) prepare(ctx context.Context) error {
	var err error
	if d.about, err = subjectHere(); err != nil {
		return err
	}
	d.screen.say(styles.title.Render("Reagent demo") + styles.dim.Render(" · an agent, a kill -9, and no finished work repeated"))
	d.screen.say("")
	if d.model, err = startModel(d.Offline, d.about); err != nil {
		return err
	}
	if d.desk, err = startToolServer(d.about.root); err != nil {
		return err
	}
	if d.dir, err = os.MkdirTemp("", "reagent-demo-"); err != nil {
		return fmt.Errorf("create a folder for the demo's configuration: %w", err)
	}
	if d.config, err = writeConfiguration(d.dir, d.model, d.desk); err != nil {
		return err
	}
	d.summary.StandIn, d.summary.ModelName = d.model.standIn, d.model.name
	d.screen.ready("Model", d.model.where)
	d.screen.ready("Tools", "an MCP server with publish and measure, and files below "+d.about.root)

	over := d.screen.working("Temporal starts")
	defer over()
	if d.server, err = startServer(ctx, d.screen); err != nil {
		return err
	}
	if d.sdk, err = dial(ctx, d.server); err != nil {
		return err
	}
	d.client = client.New(d.sdk, config.DefaultTaskQueue)
	over()
	d.screen.ready("Temporal", d.server.Address())
	d.screen.ready("Web UI", d.server.UIURL()+styles.dim.Render(" (while the demo runs)"))
	return d.startWorker(ctx, "a process of its own")
}

// startWorker starts a worker process, waits until it is ready, and shows the remark next to its process ID.
func (d *demo) startWorker(ctx context.Context, remark string) error {
	defer d.screen.working("A worker starts")()
	command := slices.Concat(d.Worker, []string{"--config", d.config, "--address", d.server.Address()})
	worker, err := startProcess(ctx, command, environment(d.dir))
	if err != nil {
		return err
	}
	d.worker = worker
	d.summary.Workers = append(d.summary.Workers, worker.pid())
	d.screen.ready("Worker", fmt.Sprintf("process %d, %s", worker.pid(), remark))
	return nil
}

// play runs the agent, and kills its worker while the tool measure runs.
func (d *demo) play(ctx context.Context) error {
	started, err := d.client.Start(ctx, client.StartOptions{
		ID: "demo-" + uuid.NewString()[:8], Agent: guideAgent, Message: d.about.question,
	})
	if err != nil {
		return err
	}
	d.summary.AgentID = started.ID
	d.summary.WebUI = fmt.Sprintf("%s/namespaces/%s/workflows/%s", d.server.UIURL(), d.server.Namespace(), started.ID)
	d.screen.ready("Agent", started.ID)
	d.screen.say("  " + styles.dim.Render("see it work at ") + d.summary.WebUI)
	d.screen.say("")

	tale := newStory(d.client, d.screen)
	ended := make(chan struct{})
	group, playing := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(ended)
		var err error
		d.summary.Status, err = tale.follow(playing, started.ID, guideAgent)
		return err
	})
	group.Go(func() error {
		select {
		case <-tale.first:
			d.summary.FirstMessage = time.Since(d.screen.began).Seconds()
		case <-ended:
		}
		return nil
	})
	group.Go(func() error { return d.interfere(playing, started.ID, tale, ended) })
	if err := group.Wait(); err != nil {
		return err
	}
	return d.count(ctx, started.ID)
}

// keep leaves everything running until ctx ends, and then returns nil. It returns earlier if the server or the worker ends.
func (d *demo) keep(ctx context.Context) error {
	flag := ""
	if d.server.Address() != config.DefaultAddress {
		flag = " --address " + d.server.Address()
	}
	d.screen.say("")
	d.screen.say("All of it runs on until Ctrl-C. In another terminal:")
	d.screen.say("  go run ./cmd/starter show" + flag + " " + d.summary.AgentID)
	d.screen.say("  go run ./cmd/starter run" + flag + " -a guide 'What is here?'")
	select {
	case <-ctx.Done():
		return nil
	case <-d.server.Done():
		return d.server.Err()
	case <-d.worker.done:
		return d.worker.failure("the worker ended")
	}
}

// stop ends everything that the demo started. It removes the folder first. If this program is killed during stop, the processes
// end by themselves, but the folder would stay.
func (d *demo) stop() {
	if d.dir != "" {
		_ = os.RemoveAll(d.dir)
	}
	if d.worker != nil {
		d.worker.kill()
	}
	if d.sdk != nil {
		d.sdk.Close()
	}
	if d.model != nil && d.model.listener != nil {
		d.model.stop()
	}
	if d.desk != nil && d.desk.listener != nil {
		d.desk.stop()
	}
	if d.server != nil {
		d.server.Stop()
	}
}
