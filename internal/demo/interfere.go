package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/reagent-dev/reagent/client"
)

// settlePoll is the pause between two checks for something that happens within moments.
const settlePoll = 20 * time.Millisecond

// interfere kills the worker while the tool measure runs, and starts another worker. If the agent ends without a call of measure,
// interfere returns nil and kills nothing.
func (d *demo) interfere(ctx context.Context, id string, tale *story, ended <-chan struct{}) error {
	// Wait until the call of measure runs and the screen shows it.
	for _, begun := range []<-chan struct{}{d.desk.measuring, tale.measured} {
		select {
		case <-begun:
		case <-ended:
			return nil
		case <-d.worker.done:
			return d.worker.failure("the worker ended")
		case <-ctx.Done():
			return nil // play returns the error of the goroutine that ended ctx
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
	defer d.screen.working("Temporal notices that measure sends no heartbeat, and gives the call to the new worker")()
	d.screen.say("")
	return d.recovered(ctx, id, killed)
}

// published waits until no call of publish is open. The demo shows that a finished effect is not repeated, so the kill must not
// interrupt a call of publish.
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

// recovered waits for the first message after the kill and records how long it took. It also returns if the agent ends or is
// held.
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

// count completes the summary: it reads the agent's status and answer, and the counts of the model's server and the tool server.
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
