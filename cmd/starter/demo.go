package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/progress"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/cmd/starter/internal/turn"
	"github.com/reagent-dev/reagent/internal/app/demo"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/serve"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

const demoWorker = "demo-worker"

func newDemo(g *session.Flags) *cobra.Command {
	var o demo.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See an agent survive a crash of its worker",
		Long: `demo shows how an agent survives a crash of its worker. It starts a Temporal
development server, a worker process, an MCP server and a stand-in for a model, and
has an agent answer a question about the files of this folder. While a tool runs, demo
kills the worker with SIGKILL, and a second worker continues.

At the end, demo prints how often the model and the tools were called. A proxy counts the
model requests, and the MCP server counts the tool calls. demo fails if a model request or
a tool call that must happen only once was repeated.

demo needs no account and no setup. If there is no Temporal CLI on the PATH, demo fetches
it once (see "starter help dev").

If OPENAI_API_KEY or OPENAI_BASE_URL is set, demo uses a real model in place of the
stand-in: gpt-4o-mini, or the model in OPENAI_MODEL. Everything that the tools read in
this folder is then sent to this model.

The Temporal server is that of ` + "`starter dev`" + `, on free ports. When demo has ended, also
after Ctrl-C, it has stopped its processes and removed its files.

The workers take encryption keys, the address for probes and OpenTelemetry's variables from
the environment, as cmd/worker does: see docs/encryption.md, docs/logs.md and
docs/telemetry.md.

demo accepts none of the global flags, because it has a server and a configuration of its
own.`,
		Example: `  starter demo
  starter demo --keep-running                         # then look around in the Web UI
  OPENAI_API_KEY=… OPENAI_MODEL=gpt-4o starter demo
  starter demo --json 2>/dev/null | jq .repeated`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.Address != "" || g.Namespace != "" || g.ConfigPath != "" || g.Queue != "" {
				return exit.Errorf(exit.Usage, "demo starts its own server and uses its own configuration and task queue: leave out --address, --namespace, --config and --task-queue")
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find the path of this program: %w", err)
			}
			o.Worker = []string{self, demoWorker}
			o.Printer = demoPrinter
			o.Out = cmd.OutOrStdout()
			if asJSON {
				o.Out = cmd.ErrOrStderr()
				o.Done = func(s demo.Summary) error { return object.Print(cmd.OutOrStdout(), s.Object()) }
			}
			summary, err := demo.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			return verdict(summary)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.KeepRunning, "keep-running", false, "leave the server and the worker running until Ctrl-C")
	f.BoolVar(&o.Offline, "offline", false, "use the stand-in even if OPENAI_API_KEY or OPENAI_BASE_URL is set")
	f.BoolVar(&asJSON, "json", false, "print the counts as an object; everything else goes to standard error")
	return cmd
}

// demoPrinter shows what the demo's agent does, as `starter run` does. It does not report a missing worker, because the demo starts the
// workers itself.
func demoPrinter(w io.Writer) func(client.Progress) {
	follow := progress.NewFollower(w, w, "", "", 0, false)
	follow.Wait.Stop()
	return func(p client.Progress) {
		if !p.NoWorker {
			follow.See(p)
		}
	}
}

func verdict(s demo.Summary) error {
	switch {
	case s.Repeated > 0:
		return fmt.Errorf("%d tool effects or model requests that must happen only once were repeated: see \"model_requests\" and \"publish\" in the output", s.Repeated)
	case s.Status != client.Completed:
		return exit.Errorf(exit.AgentFailed, "the agent %s: %s; if you use your own model, check OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, or use the demo's stand-in for a model with --offline", turn.StatusText(s.Status), s.Failure)
	}
	return nil
}

// newDemoWorker returns the hidden command that runs the demo's worker process. It exits at once when its standard input is closed, so it
// never outlives the demo, even if the demo is killed.
func newDemoWorker(g *session.Flags) *cobra.Command {
	return &cobra.Command{
		Use: demoWorker, Hidden: true, Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			go func() {
				_, _ = io.Copy(io.Discard, cmd.InOrStdin())
				os.Exit(int(exit.Failure))
			}()
			return serve.Run(cmd.Context(), serve.Options{
				Config: g.ConfigPath, Address: g.Address, Stateful: "all", Drain: time.Second,
			}, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}
