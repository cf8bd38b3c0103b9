package reagent

import (
	"context"
	"sync/atomic"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/internal/dial"
)

// lateConverter is the data converter of a [Plugin] without [Options.Converter]. It passes everything on to the converter that [lateConverter.set]
// has set last, and until then to the SDK's default. A [ClientPlugin] sets it when the worker is created.
type lateConverter struct {
	to atomic.Pointer[converter.DataConverter]
}

var _ workflow.ContextAware = (*lateConverter)(nil)

// set returns false if there is no late converter, because the plugin has a converter of its own.
func (l *lateConverter) set(dc converter.DataConverter) bool {
	if l != nil {
		l.to.Store(&dc)
	}
	return l != nil
}

func (l *lateConverter) get() converter.DataConverter {
	if dc := l.to.Load(); dc != nil {
		return *dc
	}
	return converter.GetDefaultDataConverter()
}

// WithWorkflowContext implements [workflow.ContextAware].
func (l *lateConverter) WithWorkflowContext(ctx workflow.Context) converter.DataConverter {
	if aware, ok := l.get().(workflow.ContextAware); ok {
		return aware.WithWorkflowContext(ctx)
	}
	return l.get()
}

// WithContext implements [workflow.ContextAware].
func (l *lateConverter) WithContext(ctx context.Context) converter.DataConverter {
	if aware, ok := l.get().(workflow.ContextAware); ok {
		return aware.WithContext(ctx)
	}
	return l.get()
}

// Codecs is what [dial.Codecs] returns.
func (l *lateConverter) Codecs() []converter.PayloadCodec { return dial.Codecs(l.get()) }

// ToPayload implements [converter.DataConverter].
func (l *lateConverter) ToPayload(value any) (*commonpb.Payload, error) {
	return l.get().ToPayload(value)
}

// FromPayload implements [converter.DataConverter].
func (l *lateConverter) FromPayload(p *commonpb.Payload, to any) error {
	return l.get().FromPayload(p, to)
}

// ToPayloads implements [converter.DataConverter].
func (l *lateConverter) ToPayloads(values ...any) (*commonpb.Payloads, error) {
	return l.get().ToPayloads(values...)
}

// FromPayloads implements [converter.DataConverter].
func (l *lateConverter) FromPayloads(p *commonpb.Payloads, to ...any) error {
	return l.get().FromPayloads(p, to...)
}

// ToString implements [converter.DataConverter].
func (l *lateConverter) ToString(p *commonpb.Payload) string { return l.get().ToString(p) }

// ToStrings implements [converter.DataConverter].
func (l *lateConverter) ToStrings(p *commonpb.Payloads) []string { return l.get().ToStrings(p) }
