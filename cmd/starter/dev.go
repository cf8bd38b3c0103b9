package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/dial"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/weblink"
)

const defaultPort = 7233

func newDev(g *session.Flags) *cobra.Command {
	var asJSON bool
	o := devserver.Options{SearchAttributes: protocol.AttributeTypes()}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a Temporal development server with Web UI",
		Long: `dev runs a Temporal development server with its Web UI until Ctrl-C. The server's
settings make single steps fast; they are not for production.

The server is part of the Temporal CLI:

  - dev uses ` + "`temporal`" + ` 1.5 or newer from the PATH.
  - If there is none, dev downloads the CLI once and keeps it in the user's cache folder
    (or in REAGENT_CACHE). REAGENT_CLI_URL is the URL of a mirror, or "off" for no download.
  - Without a download, dev builds the CLI, which needs Go and takes 2 to 13 minutes.

Of the global flags, dev uses only --namespace: the name of the server's namespace.`,
		Example: `  starter dev
  starter dev --port 7300                 # the Web UI is then at 8300
  starter dev --port 0 --ui-port 0        # any free ports
  starter dev --db-filename dev.db        # keep the agents when the server restarts`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.Address != "" {
				return exit.Errorf(exit.Usage, "dev runs a server on this machine: use --port in place of --address")
			}
			if !cmd.Flags().Changed("ui-port") && o.Port != 0 {
				o.UIPort = o.Port + session.UIPortAbove
			}
			o.Namespace, o.LogTo, o.Progress = g.Namespace, cmd.ErrOrStderr(), cmd.ErrOrStderr()
			return dev(cmd, o, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an object with the addresses when the server runs")
	cmd.Flags().IntVar(&o.Port, "port", defaultPort, "`port` of Temporal; 0 picks a free one")
	cmd.Flags().IntVar(&o.UIPort, "ui-port", 0, "`port` of the Web UI; 0 picks a free one (default: 1000 above --port)")
	cmd.Flags().StringVar(&o.DBFilename, "db-filename", "", "`file` that keeps the data when the server stops; without it, the data is in memory and is lost")
	return cmd
}

func dev(cmd *cobra.Command, o devserver.Options, asJSON bool) error {
	server, err := devserver.Start(cmd.Context(), o)
	if taken, ok := errors.AsType[*devserver.PortInUseError](err); ok {
		flag := "--port"
		if taken.Port == o.UIPort {
			flag = "--ui-port"
		}
		return fmt.Errorf("%w with %s", err, flag)
	}
	if err != nil {
		return err
	}
	defer server.Stop()
	if asJSON {
		err = object.Print(cmd.OutOrStdout(), object.Server{Address: server.Address(), Namespace: server.Namespace(), WebUI: server.UIURL(), DBFilename: o.DBFilename})
	} else {
		_, err = fmt.Fprint(cmd.OutOrStdout(), greeting(server, o.DBFilename))
	}
	if err != nil {
		return err
	}
	select {
	case <-cmd.Context().Done():
		fmt.Fprintln(cmd.ErrOrStderr(), "Stopping the server …")
		return nil
	case <-server.Done():
		return server.Err()
	}
}

func greeting(server *devserver.Server, dbFilename string) string {
	data := "in memory, gone when this stops (keep it with --db-filename FILE)"
	if dbFilename != "" {
		data = dbFilename
	}
	// Name only the variables whose values differ from the defaults of starter and worker.
	env := ""
	if server.Address() != dial.DefaultAddress {
		env += "TEMPORAL_ADDRESS=" + server.Address() + " "
	}
	if server.Namespace() != "default" {
		env += "TEMPORAL_NAMESPACE=" + server.Namespace() + " "
	}
	return fmt.Sprintf(`Temporal  %s (namespace %s)
Web UI    %s
Data      %s
Waiting   %s
          is the list of the agents that wait for a person: see docs/people.md

Next, in another terminal, start a worker:

  %sgo run ./cmd/worker --config examples/agents.yaml

Ctrl-C stops the server.
`, server.Address(), server.Namespace(), server.UIURL(), data, weblink.Waiting(server.UIURL(), server.Namespace()), env)
}
