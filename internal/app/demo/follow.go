package demo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/llm"
)

// follow prints the progress of an agent until it has ended or is held. For the agent "guide", it also prints the progress of the
// sub-agents, and kills the worker once, during a call of the tool "measure".
func (d *demo) follow(ctx context.Context, id, name string) error {
	show := d.Printer(labelled{d.Out, d.began, name})
	for p, err := range d.client.Watch(ctx, id, 0) {
		if err != nil {
			return err
		}
		select {
		case <-d.worker.done:
			return d.worker.failure()
		default:
		}
		if name == guideAgent {
			if err := d.act(ctx, p); err != nil {
				return err
			}
		}
		show(p)
		if p.Status == client.Held || p.Status.Ended() {
			return nil
		}
	}
	return context.Cause(ctx)
}

// act follows the sub-agents, measures the times for the summary, and kills the worker once, when the tool "measure" is the only
// call without a result.
func (d *demo) act(ctx context.Context, p client.Progress) error {
	m, s := p.Message, &d.summary
	if m != nil && m.Role == llm.Assistant && s.FirstMessage == 0 {
		s.FirstMessage = time.Since(d.began)
	}
	if m != nil && s.Killed != 0 && s.Recovered == 0 {
		s.Recovered = time.Since(d.killed)
	}
	if p.Status != client.Running && (m == nil || m.Role != llm.Tool) {
		return nil
	}
	measuring := d.tools.measured.count().Calls > 0
	snap, err := d.client.Show(ctx, s.AgentID)
	if err != nil {
		return nil //nolint:nilerr // no worker answers now, and Watch yields more soon
	}
	// Follow each sub-agent to its end before the guide's next message, which is the result with the sub-agent's answer.
	for _, child := range snap.Children {
		if !d.followed[child.ID] {
			d.followed[child.ID] = true
			if err := d.follow(ctx, child.ID, child.Agent); err != nil {
				return err
			}
		}
	}
	// Let all other calls end before the kill, because the demo shows that finished work is not repeated. The message that calls
	// measure must have been printed.
	other := func(c agent.Call) bool { return c.Name != measureTool }
	only := len(snap.Pending) > 0 && !slices.ContainsFunc(snap.Pending, other)
	if printed := snap.First+len(snap.Messages) <= p.Index; printed && measuring && only && s.Killed == 0 {
		return d.killWorker(ctx)
	}
	return nil
}

func (d *demo) killWorker(ctx context.Context) error {
	d.worker.kill()
	d.killed, d.summary.Killed = time.Now(), d.worker.pid()
	d.printf("\n✗ kill -9 %d: the worker is gone. measure was running; finished calls of publish: %d\n",
		d.worker.pid(), d.tools.published.count().Calls)
	if err := d.startWorker(ctx, "knows nothing of the first"); err != nil {
		return err
	}
	d.printf("… The new worker sees that the first sends no heartbeats, and Temporal gives it the call of measure\n\n")
	return nil
}

// labelled puts the time since the start and the name of an agent before each line. Each Write must write whole lines.
type labelled struct {
	out   io.Writer
	began time.Time
	name  string
}

func (l labelled) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		fmt.Fprintf(l.out, "%5.1fs  %-8s %s", time.Since(l.began).Seconds(), l.name, line)
	}
	return len(p), nil
}
