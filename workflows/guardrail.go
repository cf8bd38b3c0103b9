package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/clip"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// judgedBytes is the size, in bytes, of the beginning of a text in the summary of its check.
const judgedBytes = 100

// checkText asks a guardrail for its verdict, by the activity CheckText. A verdict that changes or refuses the text is recorded as a marker
// for the timeline of the Web UI. One that asks a person has the marker of the wait: see [driver.markWaits].
func (d *driver) checkText(ctx workflow.Context, f *operation, step agent.CheckText) {
	summary := joined("guardrail "+step.Guardrail, string(step.Kind), d.said(clip.Text(step.Text, judgedBytes)))
	ctx = workflow.WithStartToCloseTimeout(d.reading(ctx, string(step.Key), d.recalls(step.Key)+summary), callTimeout)
	ctx = workflow.WithPriority(ctx, d.priority())
	span := d.state.TurnSpan()
	if step.Kind == agent.TextMessage { // the turn that takes it has not begun
		span = d.state.MessageSpan(string(step.Of))
	}
	f.result = workflow.ExecuteActivity(ctx, protocol.CheckText, protocol.CheckTextInput{
		Recall: d.recallHint(step.Key), Guardrail: step.Guardrail, Kind: step.Kind, Text: step.Text, Metadata: d.state.CurrentMetadata(),
		Traceparent: d.telemetry.Parent(span),
	})
	f.ended = func(ctx workflow.Context) {
		var out protocol.CheckedText
		err := f.result.Get(ctx, &out)
		if !d.apply(protocol.TextEvent(step.Key, out, err, d.now())) {
			return
		}
		switch {
		case err != nil:
		case out.Action == agent.TextChanged:
			d.mark(oneLine(fmt.Sprintf("guardrail %s · changed the %s", step.Guardrail, step.Kind)), "")
		case out.Action == agent.TextRefused:
			d.mark(oneLine(joined(fmt.Sprintf("guardrail %s · refused the %s", step.Guardrail, step.Kind), d.said(out.Reason))), "")
		}
	}
}
