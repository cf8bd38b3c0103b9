package workflows

import (
	"fmt"
	"strings"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
)

// A call that waits for somebody outside is state: no activity runs, and without a limit there is no timer. So that the wait is visible
// in the timeline of the Web UI, the driver records a marker when the wait begins. A marker costs one action on Temporal Cloud, as a
// timer does. Unlike a timer, it causes no workflow task.

// markWaits records one marker for all calls that have begun to wait for somebody outside since its last call: see [agent.Call.Waits].
// A call that waits for an approval and then for a result has two waits. The marker has no data. The summary names the calls.
//
// Each run records the waits of its own: a run that was continued as new shows in its timeline what it waits for.
func (d *driver) markWaits() {
	var begun []agent.Call
	waits := map[agent.Key]wait{}
	for _, c := range d.state.Open() {
		waitsFor := c.WaitsFor()
		if waitsFor == "" {
			continue
		}
		w, known := d.marked[c.Key]
		if w.waitsFor != waitsFor {
			begun = append(begun, c)
			w = wait{c.Name, waitsFor, d.now()}
			if n := len(d.state.Messages); !known && n > 0 {
				w.since = d.state.Messages[n-1].Time // the reply that asked for the call, also after a continue-as-new
			}
		}
		waits[c.Key] = w
	}
	d.measureWaits(waits)
	// In a replay, the SDK panics at a side effect whose marker is not in the history. The last task that [Replay] runs may lack its
	// markers: package history adds a task to the history of a run that was terminated, and a program that follows an agent may have
	// only the first events of a task. Replay compares no commands of that task.
	if d.marked = waits; len(begun) == 0 || d.marksLeft == 0 {
		return
	}
	d.mark(d.waitSummary(begun), "")
}

// wait is a wait of a call for somebody outside.
type wait struct {
	tool     string
	waitsFor agent.WaitsFor
	since    int64 // in Unix milliseconds
}

// mark records a marker with a summary for the Web UI. It returns the given value, or in a replay the value in the marker. If
// marksLeft is 0, it records nothing.
func (d *driver) mark(summary, value string) string {
	if d.marksLeft == 0 {
		return value
	}
	d.marksLeft--
	marker := workflow.SideEffectWithOptions(d.root, workflow.SideEffectOptions{Summary: summary}, func(workflow.Context) any {
		if value == "" {
			return nil
		}
		return value
	})
	if value == "" {
		return ""
	}
	if err := marker.Get(&value); err != nil {
		panic(fmt.Sprintf("the marker %q cannot be read: %v", summary, err))
	}
	return value
}

// WaitMarker is the name of the markers that say in an agent's history what the agent waits for, and which run a reset began. It is the
// name that Temporal's SDK gives to the marker of a side effect. The workflow of an agent has no other side effects.
const WaitMarker = "SideEffect"

func waitMarkers(h *historypb.History) int {
	n := 0
	for _, e := range h.GetEvents() {
		if e.GetMarkerRecordedEventAttributes().GetMarkerName() == WaitMarker {
			n++
		}
	}
	return n
}

// summaryCalls is the largest number of calls that the summary of a wait names.
const summaryCalls = 3

// waitSummary describes calls that wait for somebody outside, for the Web UI: what they wait for, their names, and their arguments or
// questions, unless these are kept out of the Web UI. At least one call must be given.
func (d *driver) waitSummary(calls []agent.Call) string {
	if len(calls) == 1 {
		return oneLine(fmt.Sprintf("waits for %s · %s", calls[0].WaitsFor().Noun(), d.callText(calls[0])))
	}
	const between = " · "
	parts := []string{fmt.Sprintf("%d calls wait", len(calls))}
	last := ""
	if others := len(calls) - summaryCalls; others > 0 {
		last = fmt.Sprintf("%sand %d more", between, others)
	}
	shown := calls[:min(len(calls), summaryCalls)]
	each := (summaryBytes-len(parts[0])-len(last))/len(shown) - len(between)
	for _, c := range shown {
		parts = append(parts, clip.Text(oneLine(fmt.Sprintf("%s: %s", c.WaitsFor(), d.callText(c))), each))
	}
	return strings.Join(parts, between) + last
}

// callText returns the name of a call, and then its question or, if it asks none, its arguments. For a text about which a guardrail asks, it
// says so, with the text.
func (d *driver) callText(c agent.Call) string {
	if t, asks := c.AskedText(); asks {
		return joined(fmt.Sprintf("guardrail %s asks about the %s", c.Name, t.Kind), d.said(t.Text))
	}
	if q, asks := c.Question(); asks {
		return c.Name + " " + d.said(q.Question)
	}
	return c.Name + " " + d.said(c.Arguments)
}
