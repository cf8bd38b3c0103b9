package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/demo"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/serve"
	"github.com/reagent-dev/reagent/internal/usage"
)

// demoWorker is the hidden command by which this program becomes the worker process of the demo.
const demoWorker = "demo-worker"

func newDemo(g *globals) *cobra.Command {
	var o demo.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See an agent survive the death of its worker",
		Long: `demo starts a Temporal development server, a worker process, an MCP server and a
stand-in for a model, and has an agent answer a question about the files of
this folder. While a tool runs the worker is killed with SIGKILL; a second one
carries on. At the end it shows what the servers of the model and of the tools
counted, and fails if anything was done twice.

It needs nothing but Go, and no account. With OPENAI_API_KEY or OPENAI_BASE_URL
set it asks that model in place of the stand-in, gpt-4o-mini unless OPENAI_MODEL
names another; what the tools read of the folder is then sent to it.

Temporal is the one of ` + "`starter dev`" + `, on free ports where the usual ones are in
use. Nothing is left when the demo ends, or is ended with Ctrl-C.`,
		Example: `  starter demo
  starter demo --keep                         # then look around in the Web UI
  OPENAI_API_KEY=… OPENAI_MODEL=gpt-4o starter demo
  starter demo --json 2>/dev/null | jq .repeated`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.address != "" || g.namespace != "" || g.configPath != "" || g.queue != "" {
				return exitf(exitUsage, "demo runs a server, a configuration and a task queue of its own: leave out --address, --namespace, --config and --task-queue")
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find the path of this program: %w", err)
			}
			o.Worker = []string{self, demoWorker}
			// The demo draws on the terminal itself.
			o.Out = printable.Unwrap(cmd.OutOrStdout())
			if asJSON {
				o.Out = printable.Unwrap(cmd.ErrOrStderr())
				o.Done = func(s demo.Summary) error { return printJSON(cmd.OutOrStdout(), s) }
			}
			summary, err := demo.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			return verdict(summary)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.Keep, "keep", false, "leave the server and the worker running until Ctrl-C")
	f.BoolVar(&o.Plain, "plain", false, "no colours and no live line, as where the output is no terminal")
	f.BoolVar(&o.Offline, "offline", false, "take the stand-in, also where OPENAI_API_KEY is set")
	f.BoolVar(&asJSON, "json", false, "print what was counted as JSON; the rest goes to standard error")
	return cmd
}

// verdict is an error where the demo did not show what it should.
func verdict(s demo.Summary) error {
	switch {
	case s.Repeated > 0:
		return fmt.Errorf("%d effects or requests were repeated that must not be; what the servers counted says which", s.Repeated)
	case s.Status != client.Completed:
		return exitf(exitAgentFailed, "the agent %s: %s; if you use your own model, check OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, or leave it out with --offline", statusText(s.Status), s.Failure)
	}
	return nil
}

// newDemoWorker is the worker of cmd/worker. It ends at once when its standard input does: it must not
// outlive the demo, however that ends.
func newDemoWorker(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: demoWorker, Hidden: true, Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			go func() {
				_, _ = io.Copy(io.Discard, cmd.InOrStdin())
				os.Exit(int(exitFailure))
			}()
			return serve.Run(cmd.Context(), serve.Options{
				Config: g.configPath, Address: g.address, Stateful: "all", Drain: time.Second,
			}, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}
