package workflows

import (
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// convert runs a function that encodes or decodes a whole state. The function must not use the workflow's context.
//
// A state may have 32 MiB. To convert it takes longer than a second, and then the SDK's deadlock detector ends the workflow task, and
// every later attempt at it. The SDK pauses the detector only in data converters, so the function runs in one.
func (d *driver) convert(f func() error) error {
	aware, ok := workflow.DataConverterWithoutDeadlockDetection(conversion{f: f}).(workflow.ContextAware)
	if !ok {
		return f()
	}
	_, err := aware.WithWorkflowContext(d.root).ToPayload(nil)
	return err
}

// conversion is a data converter that runs f in place of an encoding.
type conversion struct {
	converter.DataConverter

	f func() error
}

// ToPayload implements [converter.DataConverter].
func (c conversion) ToPayload(any) (*commonpb.Payload, error) { return nil, c.f() }
