package examples_test

import (
	"context"
	"net/http"

	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/callback"
)

// The functions of this file are only compiled. The documentation shows parts of them: see [TestDocumentsShowCodeAsItIs].
var (
	_ = acceptResults
	_ = encode
)

func acceptResults(temporal sdk.Client, mux *http.ServeMux, secret string) error {
	handler, err := callback.New(reagent.NewClient(temporal, ""), callback.Options{Secret: secret})
	if err != nil {
		return err
	}
	mux.Handle("/callbacks/{token}", handler)
	return nil
}

func encode(ctx context.Context, codec converter.PayloadCodec, queue string) (*reagent.Client, error) {
	encoded := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	failures := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: encoded, EncodeCommonAttributes: true,
	})
	connection, err := sdk.Dial(sdk.Options{DataConverter: encoded, FailureConverter: failures})
	if err != nil {
		return nil, err
	}
	agents, err := reagent.New(ctx, connection, reagent.Options{Converter: encoded, TaskQueue: queue}) // for the worker
	_ = agents
	if err != nil {
		return nil, err
	}
	reader := reagent.NewClient(connection, queue).WithConverter(encoded) // to read agents
	return reader, nil
}
