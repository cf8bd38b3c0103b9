package workflows

import (
	"context"
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// strict is a data converter for replays. If a codec fails, strict panics, and the replay ends. Without it, the workflow would
// treat the error of a codec server as the failure of an activity.
type strict struct {
	converter.DataConverter

	failed *error // points to the first error of a codec, or to nil
}

var _ workflow.ContextAware = strict{}

// WithWorkflowContext implements [workflow.ContextAware]. The result is strict, too.
func (s strict) WithWorkflowContext(ctx workflow.Context) converter.DataConverter {
	if aware, ok := s.DataConverter.(workflow.ContextAware); ok {
		return strict{aware.WithWorkflowContext(ctx), s.failed}
	}
	return s
}

// WithContext implements [workflow.ContextAware]. It returns s itself.
func (s strict) WithContext(context.Context) converter.DataConverter { return s }

// FromPayload implements [converter.DataConverter]. It panics if a codec fails: see [strict.check].
func (s strict) FromPayload(p *commonpb.Payload, value any) error {
	return s.check(s.DataConverter.FromPayload(p, value))
}

// FromPayloads implements [converter.DataConverter]. It panics if a codec fails: see [strict.check].
func (s strict) FromPayloads(p *commonpb.Payloads, values ...any) error {
	return s.check(s.DataConverter.FromPayloads(p, values...))
}

// check ends the replay if `err` is an error of a codec: it panics with `err`. It stores the first such error in s.failed.
// Any other error only says that a JSON text does not fit the Go type. check returns such an error, and the workflow handles
// it. For nil, check returns nil.
func (s strict) check(err error) error {
	if err == nil || errors.Is(err, converter.ErrUnableToDecode) {
		return err
	}
	if *s.failed == nil {
		*s.failed = err
	}
	panic(err)
}
