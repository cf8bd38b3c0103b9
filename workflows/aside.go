package workflows

import (
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
)

// asideTimeout is the longest time for the answer to a question aside, with all attempts.
const asideTimeout = 10 * time.Minute

// acceptsAside checks whether the agent answers a question aside. If not, the returned error says why. After a reset, Temporal delivers
// the question again. The agent then refuses it, because nobody waits for the answer.
func (d *driver) acceptsAside(a agent.Aside) error {
	if d.state == nil || a.Run != d.runSuffix {
		return errMoved
	}
	inFlight := 0
	for _, f := range d.asides {
		if !f.IsReady() {
			inFlight++
		}
	}
	if f, asked := d.asides[d.asideKey(a, inFlight)]; asked && !f.IsReady() {
		inFlight = 0 // it waits for the same answer, which costs nothing more
	}
	return d.state.AcceptsAside(a, inFlight)
}

// asideKey returns the key of the model call that answers the question. It returns "" in two cases, in which nobody needs the key:
// no question waits for its answer, or the agent cannot be asked.
func (d *driver) asideKey(a agent.Aside, inFlight int) agent.Key {
	if inFlight == 0 || d.state.AcceptsAside(a, 0) != nil {
		return ""
	}
	return d.state.AsideRequest(a).Key
}

// aside answers a [protocol.AsideUpdate] by a model call, beside the turn. The run does not continue as new before the call has ended.
//
// The same question to the same transcript has the same key, so it costs nothing more in this run: it waits for the call in flight, or
// gets the answer of the call that has ended. After a failure or an empty answer, it makes a new call.
func (d *driver) aside(ctx workflow.Context, a agent.Aside) (string, error) {
	// The validator runs before a cancel of the same workflow task is known.
	if ctx.Err() != nil {
		return "", refusal(agent.ErrEnded)
	}
	r := d.state.AsideRequest(a)
	f, asked := d.asides[r.Key]
	if !asked {
		ctx, _ := workflow.NewDisconnectedContext(ctx)
		in := protocol.CallModelInput{
			Recall: protocol.Recall{Run: d.runSuffix}, Count: r.Count, Origin: &r.Origin, Delta: []llm.Message{r.Question}, Aside: true, Metadata: d.state.CurrentMetadata(),
			Traceparent: d.traceParent(),
		}
		options := d.withCallOptions(ctx, r.Key, d.state.Definition.TaskQueue, joined("aside", d.said(a.Question)))
		options = workflow.WithScheduleToCloseTimeout(options, asideTimeout)
		f = workflow.ExecuteActivity(options, protocol.CallModel, in)
		d.asides[r.Key] = f
	}
	var result protocol.ModelResult
	if err := f.Get(ctx, &result); err != nil {
		delete(d.asides, r.Key)
		if failed, ok := protocol.ModelEvent(r.Key, result, err, d.now()).(agent.ModelFailed); ok {
			return "", refusal(asideError{failed.Message})
		}
		return "", err
	}
	if !asked {
		d.apply(agent.AsideAnswered{Usage: result.Usage, Candidate: result.Candidate})
	}
	if strings.TrimSpace(result.Message.Content) == "" { // for example, a model calls a tool although the request has none
		delete(d.asides, r.Key)
		return "", refusal(asideError{"the model has answered without a text; ask again"})
	}
	return result.Message.Content, nil
}

type asideError struct{ why string }

func (e asideError) Error() string { return e.why }
