package reagent

import (
	"context"
	"errors"
	"fmt"
	"time"

	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/external"
)

type (
	clientBase = temporal.PluginBase
	workerBase = worker.PluginBase
)

// ClientPlugin is a plugin for Temporal clients that encodes all payloads with a codec, for example to encrypt them. Give it to each Temporal
// client, in client.Options.Plugins. The workers of such a client have the codec, too, and a [Plugin] without [Options.Converter] gets it
// from there. Agents are read with [ClientPlugin.Client]. So the codec is given in one place. Create a ClientPlugin with [NewClientPlugin]. It
// is safe for concurrent use.
type ClientPlugin struct {
	clientBase
	workerBase

	converter converter.DataConverter
}

var (
	_ temporal.Plugin = (*ClientPlugin)(nil)
	_ worker.Plugin   = (*ClientPlugin)(nil)
)

// NewClientPlugin returns a plugin that encodes with these codecs: the last one encodes first, as in [converter.NewCodecDataConverter]. If a
// codec returns an error in a workflow, the workflow task fails, and Temporal gives it out again.
func NewClientPlugin(codecs ...converter.PayloadCodec) *ClientPlugin {
	return &ClientPlugin{converter: dial.Encoded(codecs...)}
}

// Client returns a client that starts agents on the given task queue, and reads their payloads: see [NewClient].
func (p *ClientPlugin) Client(c temporal.Client, taskQueue string) *Client {
	return client.New(c, taskQueue).WithConverter(p.converter)
}

// Converter returns the data converter of the clients, for programs that read payloads themselves.
func (p *ClientPlugin) Converter() converter.DataConverter { return p.converter }

// Name returns the name of the plugin, "reagent-codec".
func (*ClientPlugin) Name() string { return "reagent-codec" }

// ConfigureClient implements [temporal.Plugin]. It sets the data converter and the failure converter. It returns an error if the client has one
// already, such as that of [ClientOptions] for TEMPORAL_CODEC_ENDPOINT or for keys in the environment: only one of them can encode.
func (p *ClientPlugin) ConfigureClient(_ context.Context, o temporal.PluginConfigureClientOptions) error {
	if o.ClientOptions.DataConverter != p.converter && (o.ClientOptions.DataConverter != nil || o.ClientOptions.FailureConverter != nil) {
		return errors.New("reagent: the options of the Temporal client have a DataConverter or FailureConverter beside the ClientPlugin, and only one of them can encode: unset TEMPORAL_CODEC_ENDPOINT or REAGENT_ENCRYPTION_KEYS… for this program, if one of them has set them, or leave out the plugin")
	}
	if len(o.ClientOptions.ExternalStorage.Drivers) > 0 {
		return fmt.Errorf("reagent: %w", external.ErrStorage)
	}
	dial.Encode(o.ClientOptions, p.converter)
	return nil
}

// ConfigureWorker implements [worker.Plugin]. It gives the converter to each [Plugin] of the worker that has none. If a Plugin has one that
// cannot decode what the client encodes, such as that of TEMPORAL_CODEC_ENDPOINT for another codec, the worker does not start.
func (p *ClientPlugin) ConfigureWorker(ctx context.Context, c worker.PluginConfigureWorkerOptions) error {
	for _, other := range c.WorkerOptions.Plugins {
		if agents, ok := other.(*Plugin); ok && !agents.late.set(p.converter) && agents.options.Converter != p.converter {
			agents.misfit(p.decodedBy(ctx, agents.options.Converter))
		}
	}
	return nil
}

// decodedBy returns an error if a converter cannot decode what the clients encode.
func (p *ClientPlugin) decodedBy(ctx context.Context, dc converter.DataConverter) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if aware, ok := dc.(workflow.ContextAware); ok {
		dc = aware.WithContext(ctx)
	}
	payload, err := p.converter.ToPayload("test")
	if err == nil {
		err = dc.FromPayload(payload, new(string))
	}
	return err
}
