package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/internal/app/serve"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/version"
)

const help = `worker runs the agents of a configuration: it calls their models and runs their
tools. Start as many workers as you like: if one of them crashes, the others continue
its agents.

After the first SIGTERM or Ctrl-C, the worker takes no new work. It waits for the
running model and tool calls, at most as long as --drain says. A second SIGTERM or
Ctrl-C stops it at once. The exit code is 0 after a drain. It is 1 if the worker could
not start, could not go on, or was stopped at once.

With --health-listen, the worker answers probes at this address: GET /healthz says
whether it lives, and GET /readyz whether it is connected to Temporal, asks for work and
does not drain. If not, the status is 503 with a reason as JSON. With --ready, the
command asks a running worker at this address, and does not start one. The exit code is
0 if that worker is ready, else 1.

With --check, the worker does not start. It does what "starter check" does: it names all
mistakes in the configuration, and needs no Temporal. The exit code is 0 if there is no
mistake, 2 if there is one, and 1 if the configuration could not be checked.

The address of Temporal is --address, else TEMPORAL_ADDRESS, else the one in Temporal's
own file temporal.toml, else 127.0.0.1:7233. The worker also reads Temporal's other
environment variables, such as TEMPORAL_NAMESPACE, TEMPORAL_API_KEY and
TEMPORAL_PROFILE (a profile in temporal.toml).

REAGENT_ENCRYPTION_KEYS_FILE is a file with keys that encrypt all payloads in Temporal,
REAGENT_ENCRYPTION_KEYS has the keys themselves, and REAGENT_ENCRYPTION_KEYS_COMMAND is a
command that prints them: see docs/encryption.md.

The worker reads API keys from the files and environment variables that the
configuration names. OPENAI_BASE_URL is the endpoint of OpenAI-compatible models
without a base_url in the configuration.

An MCP server that keeps state in its process (stateful: true) must run in one worker
only. By default, each worker runs all these servers. If you start more than one
worker, start all but one with --stateful none.

--deployment and --build-id together name a version of the workers (Temporal's worker
deployments). New agents begin on the current version. Running agents move to the
current version when they next do something. With --pinned, they stay on their version
until they continue in a new run (starter upgrade).

With --dev, the worker takes a changed configuration file as soon as it is saved. New
agents have the new definitions. Agents that are running read theirs again when no model
call or tool call of theirs is running, and at every start of such a worker. If the file
has mistakes, the worker says so and goes on with what it had.`

func newCommand() *cobra.Command {
	var o serve.Options
	var c check
	var ready bool
	cmd := &cobra.Command{
		Use:     "worker",
		Short:   "Serve durable agents on Temporal",
		Long:    help,
		Version: version.String(),
		Example: `  worker --config agents.yaml
  TEMPORAL_ADDRESS=temporal:7233 worker --config agents.yaml --drain 5m
  worker --config agents.yaml --dev
  worker --config agents.yaml --deployment shop --build-id v2 --pinned
  worker --health-listen 127.0.0.1:8091
  worker --ready --health-listen 127.0.0.1:8091
  worker --check --config agents.yaml`,
		Args: usage.NoArguments, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.only || c.asJSON || c.NoEnvironment || c.NoMCPServers {
				c.Config = o.Config
				return c.run(cmd)
			}
			if ready {
				return serve.Ready(cmd.Context(), o.HealthListen)
			}
			return serve.Run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.SetFlagErrorFunc(usage.FlagError)
	f := cmd.Flags()
	f.StringVar(&o.Config, "config", "", "configuration `file` (default $REAGENT_CONFIG, else agents.yaml)")
	f.StringVar(&o.TaskQueue, "task-queue", "", "task `queue` to serve (default: the configuration's)")
	f.StringVar(&o.Address, "address", "", "`host:port` of Temporal (default $TEMPORAL_ADDRESS, else temporal.toml, else "+dial.DefaultAddress+")")
	f.StringVar(&o.Namespace, "namespace", "", "Temporal `namespace` (default $TEMPORAL_NAMESPACE, else temporal.toml, else default)")
	f.StringVar(&o.Stateful, "stateful", "all", "which stateful MCP `servers` to run: all, none, or their names, separated by commas")
	f.StringVar(&o.Listen, "listen", "", "`host:port` at which to accept the results of external calls by HTTP, or none (default: callbacks.listen of the configuration)")
	f.StringVar(&o.HealthListen, "health-listen", "", "`host:port` at which to answer probes, or none (default $"+serve.HealthEnv+", else none); it may be the address of --listen")
	f.BoolVar(&ready, "ready", false, "ask the running worker at the address of --health-listen whether it is ready, and end")
	f.StringVar(&o.Deployment, "deployment", "", "`name` of the worker deployment to which this worker belongs; needs --build-id")
	f.StringVar(&o.BuildID, "build-id", "", "build `ID` of the version; needs --deployment")
	f.BoolVar(&o.Pinned, "pinned", false, "keep agents on the version on which their run began; needs --deployment and --build-id")
	f.StringVar(&o.ResultsDir, "results-dir", "", "`folder` for the results of calls that Temporal does not have yet, in plain text unless the worker has keys; a worker that is started again after a crash uses them")
	f.DurationVar(&o.Drain, "drain", 2*time.Minute, "how long running calls may take to end after SIGTERM or Ctrl-C, such as 30s or 5m; 0 stops them at once")
	f.DurationVar(&o.HeartbeatTimeout, "heartbeat-timeout", 0, "how long Temporal waits for a heartbeat of a running call, such as 3s, before it gives the call to another worker; at least 1s; a longer time needs fewer heartbeats, which Temporal Cloud bills (default 3s, or 30s on Temporal Cloud or if the namespace has worker heartbeats, by which workers see sooner that one is lost)")
	f.IntVar(&o.CacheAgents, "cache-agents", 0, "how many `agents` to keep in memory after they have run; the others are read from their history when they go on (default 10000)")
	f.BoolVar(&o.Dev, "dev", false, "development mode: take a changed configuration while the worker runs, for new agents and those that are running, and let starter rerun choose every model and replace instructions")
	f.BoolVar(&c.only, "check", false, "check the configuration without Temporal, name all mistakes in it, and end")
	f.BoolVar(&c.NoEnvironment, "no-environment", false, "with --check: leave out environment variables and the files with keys")
	f.BoolVar(&c.NoMCPServers, "no-mcp-servers", false, "with --check: start no MCP servers")
	f.BoolVar(&c.asJSON, "json", false, "with --check: print the result as one object, as starter check --json does")
	f.StringVar(&o.Log.Level, "log-level", "", "lowest `level` of the log: debug, info, warn or error (default warn); debug also logs what people, models and tools say in errors")
	f.StringVar(&o.Log.Format, "log-format", serve.LogText, "`format` of the log: text or json")
	f.BoolVar(&o.Log.Verbose, "verbose", false, "the same as --log-level info")
	return cmd
}
