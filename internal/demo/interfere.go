package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/reagent-dev/reagent/client"
)

// settlePoll is how often something is looked for that comes within moments.
const settlePoll = 20 * time.Millisecond

// interfere kills the worker while measure runs, and starts another one.
func (d *demo) interfere(ctx context.Context, id string, tale *story, ended <-chan struct{}) error {
	// The call runs, and a person has seen that it was asked for.
	for _, begun := range []<-chan struct{}{d.desk.measuring, tale.measured} {
		select {
		case <-begun:
		case <-ended:
			return nil
		case <-d.worker.done:
			return d.worker.failure("the worker ended")
		case <-ctx.Done():
			return nil // the others say why
		}
	}
	if err := d.published(ctx, id); err != nil {
		return err
	}
	done := ""
	if d.desk.count(publishTool).Calls > 0 {
		done = "publish has been done, "
	}
	victim := d.worker
	victim.kill()
	killed := time.Now()
	close(d.desk.gone)
	d.summary.Killed = victim.pid()
	d.screen.say("")
	d.screen.say(fmt.Sprintf("%s %s%s", styles.bad.Render("✗ kill -9 "+fmt.Sprint(victim.pid())), styles.dim.Render("the worker is gone: "), done+"measure was running"))
	if err := d.startWorker(ctx, "knows nothing of the first"); err != nil {
		return err
	}
	defer d.screen.working("Temporal misses the heartbeat of measure, then has it done by the new worker")()
	d.screen.say("")
	return d.recovered(ctx, id, killed)
}

// published waits until no call is open that must not be cut off: what this demo shows
// is that a finished effect is not repeated.
func (d *demo) published(ctx context.Context, id string) error {
	for {
		snap, err := d.client.Show(ctx, id)
		if err != nil {
			return err
		}
		open := false
		for _, call := range snap.Pending {
			open = open || call.Name == publishTool
		}
		if !open {
			return nil
		}
		select {
		case <-time.After(settlePoll):
		case <-ctx.Done():
			return nil
		}
	}
}

// recovered waits for the first message after the kill.
func (d *demo) recovered(ctx context.Context, id string, killed time.Time) error {
	for p, err := range d.client.Watch(ctx, id, 0) {
		switch {
		case err != nil:
			return err
		case p.Message != nil:
			if time.UnixMilli(p.Message.Time).After(killed) {
				d.summary.Recovered = time.Since(killed).Seconds()
				return nil
			}
		case p.Status.Ended(), p.Status == client.Held:
			return nil
		}
	}
	return nil
}

// count asks the servers and the agent what there was.
func (d *demo) count(ctx context.Context, id string) error {
	snap, err := d.client.Show(ctx, id)
	if err != nil {
		return err
	}
	s := &d.summary
	s.Status, s.Answer, s.Failure = snap.Status, snap.Answer, snap.Failure
	s.Model, s.Publish, s.Measure = d.model.count(), d.desk.count(publishTool), d.desk.count(measureTool)
	s.Repeated = s.Model.Repeated + s.Publish.Again
	return nil
}
