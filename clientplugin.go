package reagent

import (
	"context"
	"errors"

	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/dial"
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
// already, because payloads would then leave unencoded.
func (p *ClientPlugin) ConfigureClient(_ context.Context, o temporal.PluginConfigureClientOptions) error {
	if o.ClientOptions.DataConverter != nil || o.ClientOptions.FailureConverter != nil {
		return errors.New("reagent: the options of the Temporal client have a DataConverter or FailureConverter beside the ClientPlugin: remove it, or remove the plugin (TEMPORAL_CODEC_ENDPOINT sets one, too)")
	}
	dial.Encode(o.ClientOptions, p.converter)
	return nil
}

// ConfigureWorker implements [worker.Plugin]. It gives the converter to each [Plugin] of the worker that has none.
func (p *ClientPlugin) ConfigureWorker(_ context.Context, c worker.PluginConfigureWorkerOptions) error {
	for _, other := range c.WorkerOptions.Plugins {
		if agents, ok := other.(*Plugin); ok {
			agents.late.set(p.converter)
		}
	}
	return nil
}
