package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/printable"
)

// run goes through agents. It prints a line for each of them when it is finished.
type run struct {
	stdout, stderr io.Writer
	json           bool
	// done is the participle for the summary, such as "resumed", and again are the flags to repeat the command with.
	done, again string
	all         int
	// unread is the number of agents of which it is not known whether they match.
	unread int

	mu     sync.Mutex
	counts map[object.Result]int
	write  error // of the output
}

// work is one unit of work: an agent, or several that belong together. Its `do` returns a line for each of them.
type work struct {
	id string
	do func(ctx context.Context) ([]object.Outcome, error)
}

// unreachable reports whether no further agent can be worked on.
func unreachable(err error) bool {
	return errors.Is(err, client.ErrNoServer) || errors.Is(err, client.ErrNoNamespace)
}

// do does the work, at most `perSecond` units in a second; 0 means no limit. It returns an error if Temporal cannot be reached, if ctx has
// ended, if an agent has failed, or if the output cannot be written.
func (r *run) do(ctx context.Context, perSecond float64, all []work) error {
	r.counts = map[object.Result]int{}
	stop := r.report(ctx)
	defer stop()
	limit := rate.NewLimiter(rate.Inf, 1)
	if perSecond > 0 {
		limit.SetLimit(rate.Limit(perSecond))
	}
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, w := range all {
		if limit.Wait(working) != nil {
			break
		}
		group.Go(func() error {
			lines, err := w.do(working)
			if err != nil && (unreachable(err) || working.Err() != nil) {
				r.print(lines)
				return err
			}
			if err != nil {
				lines = append(lines, object.Outcome{ID: w.id, Outcome: object.Failed, Error: err.Error()})
			}
			return r.print(lines)
		})
	}
	err := group.Wait()
	stop()
	return r.verdict(ctx, err)
}

// print writes the results of agents, and counts them.
func (r *run) print(lines []object.Outcome) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range lines {
		r.counts[l.Outcome]++
		if r.write == nil {
			r.write = write(r.stdout, l, r.json)
		}
	}
	return r.write
}

func write(out io.Writer, l object.Outcome, asJSON bool) error {
	if asJSON {
		return object.Print(out, l)
	}
	more := l.Note
	if l.Error != "" {
		more = l.Error
	}
	if more != "" {
		more = "  " + printable.Line(more, 500)
	}
	_, err := fmt.Fprintf(out, "%-7s  %s%s\n", l.Outcome, printable.Name(l.ID), more)
	return err
}

// report writes the progress of a long run until the returned function is called.
func (r *run) report(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(progress.Silence)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
				r.mu.Lock()
				fmt.Fprintf(r.stderr, "%s …\n", r.countText())
				r.mu.Unlock()
				timer.Reset(reportEvery)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// countText returns a text such as "41 of 43 agents resumed, 1 of them before this command; 2 failed". The caller must hold `r.mu`.
func (r *run) countText() string {
	ready := r.counts[object.Done] + r.counts[object.Already]
	text := fmt.Sprintf("%d of %s %s", ready, agentsText(r.all), r.done)
	if n := r.counts[object.Already]; n > 0 {
		text += fmt.Sprintf(", %d of them before", n)
	}
	if n := r.counts[object.Failed]; n > 0 {
		text += fmt.Sprintf("; %d failed", n)
	}
	return text
}

// verdict writes the summary and returns the error of the command.
func (r *run) verdict(ctx context.Context, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.all - r.counts[object.Done] - r.counts[object.Already] - r.counts[object.Failed]
	repeat := "repeat the command to go on"
	if r.again != "" {
		repeat += ", with " + r.again
	}
	switch {
	case ctx.Err() != nil:
		return exit.Errorf(exit.Interrupted, "interrupted: %s, and %d are left; %s", r.countText(), left, repeat)
	case err != nil && r.write != nil:
		return fmt.Errorf("%s, and %d are left, because the output cannot be written: %w; %s", r.countText(), left, err, repeat)
	case err != nil:
		return exit.Errorf(exit.Unreachable, "%s, and %d are left: %w; %s", r.countText(), left, err, repeat)
	}
	text := r.countText()
	if r.all == 0 {
		text = "No agent matches; nothing was done"
	}
	fmt.Fprintln(r.stderr, text)
	if failed := r.counts[object.Failed]; failed > 0 {
		return exit.Errorf(exit.Partly, "%d of %s failed; the output names the causes: remove them, and %s", failed, agentsText(r.all), repeat)
	}
	return unreadError(r.unread)
}

// unreadError returns the error of a command that could not read agents; nil if there are none.
func unreadError(unread int) error {
	if unread == 0 {
		return nil
	}
	return exit.Errorf(exit.Partly, "%s cannot be read, so it is not known whether they match; nothing was done to them", agentsText(unread))
}

func agentsText(n int) string {
	if n == 1 {
		return "1 agent"
	}
	return fmt.Sprintf("%d agents", n)
}
