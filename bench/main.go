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
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/activities"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/workflows"
)

const queue = "bench"

// lab has what all measurements share: one server, one worker in this process, and the table of results.
type lab struct {
	server   *devserver.Server
	temporal client.Client
	worker   worker.Worker
	report   report
	started  int // number of workflows that [lab.start] has started
}

type settings struct {
	rounds, long, chats, kills, resets int
	only, profile                      string
}

func main() {
	if path := os.Getenv(asleepWorker); path != "" {
		if err := sleepWorker(context.Background(), path); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var s settings
	flag.IntVar(&s.rounds, "rounds", 5, "how often each measurement is repeated; the table shows medians")
	flag.IntVar(&s.long, "long", 10_000, "turns of the long agent; 0 leaves it out")
	flag.IntVar(&s.resets, "resets", 500, "agents that are reset at once; 0 leaves them out")
	flag.IntVar(&s.chats, "chats", 3000, "number of chats that are asleep; 0 leaves them out")
	flag.IntVar(&s.kills, "kills", 20, "how many workers are killed during a model call, and how many between turns; 0 leaves them out")
	flag.StringVar(&s.only, "only", "", "run only these measurements, separated by commas, such as turns20,replay")
	flag.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile of this process, which is also the worker of most measurements, to this `file`")
	flag.Parse()
	if err := run(context.Background(), s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	began, load := time.Now(), loadAverage()
	l, err := newLab(ctx, devserver.Options{})
	if err != nil {
		return err
	}
	defer l.close()
	if s.profile != "" {
		to, err := os.Create(s.profile)
		if err != nil {
			return err
		}
		defer to.Close()
		if err := pprof.StartCPUProfile(to); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	var names []string
	only := strings.FieldsFunc(s.only, func(r rune) bool { return r == ',' })
	for _, m := range []struct {
		name    string
		measure func() error
	}{
		{"turns20", func() error { return l.turns(ctx, 20, s.rounds) }},
		{"turns50", func() error { return l.turns(ctx, 50, s.rounds) }},
		{"turns200", func() error { return l.turns(ctx, 200, s.rounds) }},
		{"turns500", func() error { return l.turns(ctx, 500, s.rounds) }},
		{"actions", func() error { return l.actions(ctx) }},
		{"latency", func() error { return l.latency(ctx, 30) }},
		{"resets", func() error { return l.resets(ctx, s.resets) }},
		{"crowd", func() error { return l.crowd(ctx, 50, 10, s.rounds) }},
		{"replay", func() error { return l.replay(ctx, 200, s.rounds) }},
		{"tree", func() error { return l.tree(ctx, s.rounds) }},
		{"extras", func() error { return l.extras(ctx, 100, 2*s.rounds) }},
		{"inbox", func() error { return l.inbox(ctx) }},
		{"wake", func() error { return l.wake(ctx, min(wokenChats, s.chats)) }},
		{"asleep", func() error { return l.asleep(ctx, s.chats) }},
		{"kill", func() error { return l.kills(ctx, s.kills) }},
		{"long", func() error { return l.long(ctx, s.long) }},
		{"resumed", func() error { return l.resumed(ctx, 20) }},
	} {
		names = append(names, m.name)
		if len(only) > 0 && !slices.Contains(only, m.name) {
			continue
		}
		if err := m.measure(); err != nil {
			return err
		}
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-only: there is no measurement %q; use %s", name, strings.Join(names, ", "))
		}
	}
	fmt.Printf("\nMedians of %d rounds; load average %s before and %s after; %s in all.\n\n",
		s.rounds, load, loadAverage(), time.Since(began).Round(time.Second))
	return l.report.print(os.Stdout)
}

// newLab starts the server and the worker. The caller must call [lab.close].
func newLab(ctx context.Context, o devserver.Options) (*lab, error) {
	l := new(lab)
	o.Progress, o.Metrics = os.Stderr, true
	var err error
	if l.server, err = devserver.Start(ctx, o); err != nil {
		return nil, err
	}
	if err := l.serve(queue, func(*client.Options) {}, activities.Options{}, workflows.Options{}); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// serve connects to the server and starts a worker for the given task queue.
func (l *lab) serve(queue string, connect func(*client.Options), doing activities.Options, driving workflows.Options) error {
	options, err := dial.ClientOptions(l.server.Address(), "")
	if err != nil {
		return err
	}
	options.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	connect(&options)
	if l.temporal, err = client.Dial(options); err != nil {
		return err
	}
	w := worker.New(l.temporal, queue, worker.Options{StickyScheduleToStartTimeout: time.Second})
	if err := register(l.temporal, w, doing, driving); err != nil {
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
