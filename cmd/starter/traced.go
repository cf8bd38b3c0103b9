package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/codes"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/internal/app/exporter"
	"github.com/reagent-dev/reagent/internal/printable"
)

// tracedCommands are the commands that send one message or start one agent. What it causes lies in the trace of the command. A chat sends
// many messages, so each of them has a trace of its own.
var tracedCommands = []string{"run", "send", "rerun", "resume", "fork"}

// traced returns a context with a span of the command, if OpenTelemetry's environment variables ask for spans. The function ends the span, and
// sends it. What cannot be sent is told on standard error, and changes nothing about the command.
func traced(ctx context.Context, cmd *cobra.Command) (context.Context, func(error), error) {
	nothing := func(error) {}
	if !slices.Contains(tracedCommands, cmd.Name()) {
		return ctx, nothing, nil
	}
	export, err := exporter.New(ctx, exporter.Options{Program: "reagent-starter"})
	if err != nil {
		return ctx, nothing, err
	}
	provider := export.Tracers()
	if provider == nil {
		return ctx, nothing, nil
	}
	ctx, span := provider.Tracer("github.com/reagent-dev/reagent/cmd/starter").Start(ctx, cmd.CommandPath()) //nolint:spancheck // the function ends it
	return ctx, func(err error) {                                                                            //nolint:spancheck // the function ends it
		if err != nil { // its text may have what a model or a tool says
			span.SetStatus(codes.Error, fmt.Sprintf("exit code %d", exit.CodeOf(err)))
		}
		span.End()
		if err := export.Close(ctx); err != nil {
			cmd.PrintErrln("starter: the trace of this command could not be exported: " + printable.Line(err.Error(), 300))
		}
	}, nil
}
