package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/serve"
	"github.com/reagent-dev/reagent/internal/usage"
	"github.com/reagent-dev/reagent/internal/version"
)

const help = `worker serves the agents of a configuration. Start as many workers as you
like: what one leaves undone when it dies, another goes on with.

The first SIGTERM or Ctrl-C lets the running model and tool calls end, for as long as
--drain allows, and takes no new work; the second stops at once.

Temporal is looked for at --address, else where TEMPORAL_ADDRESS,
TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_PROFILE and their like say, else
at 127.0.0.1:7233. API keys are read from the environment variables that the
configuration names. OPENAI_BASE_URL is the endpoint of the models whose base_url the
configuration leaves out.

An MCP server with state in its process (stateful: true) has to be run by one
worker only. Every worker runs all of them unless --stateful says otherwise: with
more than one worker, give the others --stateful none.

--deployment and --build-id name a version of the workers (Temporal's worker
deployments). Agents begin on the version that is made current, and go on with the
current one at their next task; with --pinned they stay on theirs, until they go on
in a new run (starter upgrade).

The exit code is 0 after a drain and 1 when the worker could not start or go on.`

func newCommand() *cobra.Command {
	var o serve.Options
	cmd := &cobra.Command{
		Use:     "worker --config agents.yaml",
		Short:   "Serve durable agents on Temporal",
		Long:    help,
		Version: version.String(),
		Example: `  worker --config agents.yaml
  TEMPORAL_ADDRESS=temporal:7233 worker --config agents.yaml --drain 5m
  worker --config agents.yaml --deployment shop --build-id v2 --pinned`,
		Args: usage.NoArguments, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve.Run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.SetFlagErrorFunc(usage.FlagError)
	f := cmd.Flags()
	f.StringVar(&o.Config, "config", "", "configuration `file` (default $REAGENT_CONFIG, else agents.yaml)")
	f.StringVar(&o.TaskQueue, "task-queue", "", "task `queue` to serve (default: the configuration's)")
	f.StringVar(&o.Address, "address", "", "`host:port` of Temporal (default $TEMPORAL_ADDRESS, else "+config.DefaultAddress+")")
	f.StringVar(&o.Namespace, "namespace", "", "Temporal `namespace` (default $TEMPORAL_NAMESPACE, else default)")
	f.StringVar(&o.Stateful, "stateful", "all", "which stateful MCP `servers` to run: all, none, or names with commas between")
	f.StringVar(&o.Deployment, "deployment", "", "`name` of the worker deployment; with --build-id")
	f.StringVar(&o.BuildID, "build-id", "", "build `ID` of this version of the deployment")
	f.BoolVar(&o.Pinned, "pinned", false, "keep agents on the version on which their run began")
	f.StringVar(&o.Keep, "keep", "", "`folder` in which results of models and tools are kept, as plain text, for a worker that is started again after a crash")
	f.DurationVar(&o.Drain, "drain", 2*time.Minute, "how long running calls may take to end after SIGTERM")
	f.BoolVar(&o.Verbose, "verbose", false, "log more")
	return cmd
}
