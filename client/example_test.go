package client_test

import (
	"context"
	"fmt"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"

	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdktemporal "go.temporal.io/sdk/temporal"
)

func Example() { //nolint:testableexamples // it takes a server and a worker
	ctx := context.Background()
	options, err := reagent.ClientOptions("", "") // reads TEMPORAL_ADDRESS and Temporal's other variables
	if err != nil {
		panic(err)
	}
	temporal, err := sdk.DialContext(ctx, options)
	if err != nil {
		panic(err)
	}
	defer temporal.Close()
	agents := client.New(temporal, "").WithConverter(options.DataConverter) // the default task queue

	// Two programs that start the same ID start one agent.
	started, err := agents.Start(ctx, client.StartOptions{
		ID: "support-4711", Agent: "assistant", Mode: agent.Chat, Message: "My parcel is lost.",
	})
	if err != nil {
		panic(err)
	}
	end, err := agents.Reply(ctx, started.ID, started.MessageID, 0, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(end.Status, end.Answer)

	// A message with an ID can safely be sent again, because the agent takes each ID once.
	message := client.Message{ID: "mail-815", Text: "It was the blue one."}
	if _, err := agents.Send(ctx, started.ID, message); err != nil {
		panic(err)
	}
	end, err = agents.Reply(ctx, started.ID, message.ID, end.Count, nil)
	if err != nil {
		panic(err)
	}
	for _, w := range end.Waiting { // the answer may come in days; do not wait for it here
		fmt.Println("a person decides on call", w.Handle(), "of", w.Call.Name, w.Call.Arguments)
	}
	fmt.Println(end.Answer)
}

// A chat service needs one call for each message. A request that is repeated with the same ID is answered by the same answer.
func ExampleClient_SendOrStart() { //nolint:testableexamples // it takes a server and a worker
	var agents *client.Client // from client.New
	ctx := context.Background()
	sent, err := agents.SendOrStart(ctx, "support-4711", client.Message{ID: "mail-815", Text: "It was the blue one."},
		client.StartOptions{Agent: "assistant"})
	if err != nil {
		panic(err) // send it again with the same ID
	}
	end, err := agents.Reply(ctx, "support-4711", sent.MessageID, 0, nil)
	fmt.Println(end.Answer, end.Waiting, err)
}

// Watch yields the messages of an agent as they come, even if workers restart.
func ExampleClient_Watch() { //nolint:testableexamples // it takes a server and a worker
	var agents *client.Client // from client.New
	for progress, err := range agents.Watch(context.Background(), "support-4711", 0) {
		switch {
		case err != nil:
			panic(err)
		case progress.Message != nil:
			fmt.Println(progress.Message.Role, progress.Message.Content)
		case progress.NoWorker:
			fmt.Println("no worker answers at this time")
		default:
			fmt.Println("is", progress.Status)
		}
	}
}

// A codec in this process can encode the payloads. The Temporal client of the worker then needs the same options, and the
// Converter of [activities.Options] must be the same data converter.
func ExampleClient_WithConverter() { //nolint:testableexamples // it takes a server and a worker
	codec := converter.NewZlibCodec(converter.ZlibCodecOptions{}) // or one that encrypts
	encoded := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	temporal, err := sdk.Dial(sdk.Options{
		DataConverter: encoded,
		FailureConverter: sdktemporal.NewDefaultFailureConverter(sdktemporal.DefaultFailureConverterOptions{
			DataConverter: encoded, EncodeCommonAttributes: true,
		}),
	})
	if err != nil {
		panic(err)
	}
	defer temporal.Close()
	agents := client.New(temporal, "").WithConverter(encoded)
	fmt.Println(agents.Show(context.Background(), "support-4711"))
}

func ExampleCheckID() {
	fmt.Println(client.CheckID("support-4711"))
	fmt.Println(client.CheckID("support 4711"))
	// Output:
	// <nil>
	// the agent ID "support 4711" has a space or a character other than printable ASCII: use letters, digits, - and _
}
