package workflows

import (
	"context"
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// strict is a data converter that ends a replay if a codec fails. Without it, the workflow would treat the error of a
// codec server as the failure of an activity.
type strict struct {
	converter.DataConverter

	failed *error // points to the first error of a codec, or to nil
}

var _ workflow.ContextAware = strict{}

// WithWorkflowContext implements [workflow.ContextAware].
func (s strict) WithWorkflowContext(ctx workflow.Context) converter.DataConverter {
	if aware, ok := s.DataConverter.(workflow.ContextAware); ok {
		return strict{aware.WithWorkflowContext(ctx), s.failed}
	}
	return s
}

// WithContext implements [workflow.ContextAware].
func (s strict) WithContext(context.Context) converter.DataConverter { return s }

// FromPayload implements [converter.DataConverter].
func (s strict) FromPayload(p *commonpb.Payload, value any) error {
	return s.check(s.DataConverter.FromPayload(p, value))
}

// FromPayloads implements [converter.DataConverter].
func (s strict) FromPayloads(p *commonpb.Payloads, values ...any) error {
	return s.check(s.DataConverter.FromPayloads(p, values...))
}

// check ends the replay if err is an error of a codec: it panics with err. If this is the first such error, check
// also stores it in the field failed. The workflow handles all other errors, so check returns them. These errors say
// that a JSON text does not fit the Go type. For nil, check returns nil.
func (s strict) check(err error) error {
	if err == nil || errors.Is(err, converter.ErrUnableToDecode) {
		return err
	}
	if *s.failed == nil {
		*s.failed = err
	}
	panic(err)
}
