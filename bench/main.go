// Command bench measures the costs of Reagent. It compares an agent with a workflow written by hand that runs the same turns.
// Both run on the same server, one after the other in each round. bench prints a table. The table shows ratios, because they
// depend less on the machine than times. Run it with `make bench`.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/devserver"
)

const queue = "bench"

// lab holds what all measurements share: one server, one worker in this process, and the table of results.
type lab struct {
	server   *devserver.Server
	temporal client.Client
	worker   worker.Worker
	report   report
	started  int // number of workflows that [lab.start] has started
}

func main() {
	rounds := flag.Int("rounds", 5, "how often each measurement is repeated; the table shows medians")
	only := flag.String("only", "", "run one measurement: actions, latency or resets")
	resets := flag.Int("resets", 500, "agents that are reset at once; 0 leaves them out")
	long := flag.Int("long", 10_000, "turns of the long agent; 0 leaves it out")
	flag.Parse()
	if err := run(context.Background(), *rounds, *long, *resets, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds, long, resets int, only string) error {
	began, load := time.Now(), loadAverage()
	l, err := newLab(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	alone := map[string]func() error{
		"actions": func() error { return l.actions(ctx) },
		"latency": func() error { return l.latency(ctx, 30) },
		"resets":  func() error { return l.resets(ctx, resets) },
	}
	if measure, ok := alone[only]; ok {
		if err := measure(); err != nil {
			return err
		}
		return l.report.print(os.Stdout)
	} else if only != "" {
		return fmt.Errorf("-only %s: there is no such measurement; use actions, latency or resets", only)
	}
	for _, turns := range []int{20, 50, 200, 500} {
		if err := l.turns(ctx, turns, rounds); err != nil {
			return err
		}
	}
	for _, measure := range []func() error{
		func() error { return l.actions(ctx) },
		func() error { return l.latency(ctx, 30) },
		func() error { return l.crowd(ctx, 50, 10, rounds) },
		func() error { return l.replay(ctx, 200, rounds) },
		func() error { return l.kills(ctx, rounds) },
		func() error { return l.long(ctx, long) },
		func() error { return l.resumed(ctx, 20) },
		func() error {
			if resets == 0 {
				return nil
			}
			return l.resets(ctx, resets)
		},
	} {
		if err := measure(); err != nil {
			return err
		}
	}
	fmt.Printf("\nMedians of %d rounds; load average %s before and %s after; %s in all.\n\n",
		rounds, load, loadAverage(), time.Since(began).Round(time.Second))
	return l.report.print(os.Stdout)
}

// newLab starts a Temporal server and a worker, and returns a lab with both.
func newLab(ctx context.Context) (*lab, error) {
	l := new(lab)
	var err error
	if l.server, err = devserver.Start(ctx, devserver.Options{Progress: os.Stderr, Metrics: true}); err != nil {
		return nil, err
	}
	if err := l.serve(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) serve() error {
	options, err := config.ClientOptions(l.server.Address(), "")
	if err != nil {
		return err
	}
	options.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	if l.temporal, err = client.Dial(options); err != nil {
		return err
	}
	w := worker.New(l.temporal, queue, worker.Options{StickyScheduleToStartTimeout: time.Second})
	if err := register(l.temporal, w); err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	l.worker = w
	return nil
}

func (l *lab) close() {
	if l.worker != nil {
		l.worker.Stop()
	}
	if l.temporal != nil {
		l.temporal.Close()
	}
	l.server.Stop()
}

// progressf formats its arguments as [fmt.Printf] does and prints them as one line to standard error. The line names the measurement
// that starts.
func progressf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
