package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/cmd/starter/internal/doctor"
	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
)

func newDoctor(g *session.Flags) *cobra.Command {
	var o doctor.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps agents from working",
		Long: `doctor looks at everything that agents need, and says of each thing whether it is ok, with
a warning or a problem, and what cures it:

  connection     the address of Temporal, TLS, the API key
  server         the version of Temporal
  namespace      whether it exists
  retention      how long agents are kept after their end
  clock          the difference between this machine and the server
  heartbeats     whether workers see soon that another one is lost
  attributes     the search attributes of agents
  configuration  what "starter check" finds, if there is a configuration
  mcp            the MCP servers, with --mcp
  models         whether the endpoints of the models answer; with --call-models, the models
  workers        the workers of the task queue with their versions, the task queues of models
                 and MCP servers, and running agents on task queues without workers
  codec          whether the newest agent can be decoded
  held           agents that somebody has to let go on
  stuck          agents whose work fails again and again, or that no worker takes
  people         calls that have waited for a person for longer than a day

doctor changes nothing. It goes on after a problem; what then cannot be checked is called
"unchecked". To compare the clocks, it polls the task queue "reagent-doctor", on which there
is never any work. A worker that was killed counts as running for up to 90 seconds.

The exit code is 0 if there is no problem, also if there are warnings, 5 if Temporal cannot
be reached, and 11 if there is any other problem. With --json, doctor prints an object of
the type "finding" for each line: see docs/json.md.`,
		Example: `  starter doctor
  starter doctor --mcp --call-models   # also starts the MCP servers, and asks each model for a few tokens
  starter doctor --json | jq -r 'select(.level == "problem") | .cure'`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tell := func(f object.Finding) error { return printFinding(cmd.OutOrStdout(), f) }
			if asJSON {
				tell = func(f object.Finding) error { return object.Print(cmd.OutOrStdout(), f) }
			}
			found, err := doctor.Examine(cmd.Context(), g, o, cmd.ErrOrStderr(), tell)
			if err != nil {
				return err
			}
			return diagnosis(found)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.CallModels, "call-models", false, "ask each model that agents use for a few tokens, which the provider bills")
	f.BoolVar(&o.MCP, "mcp", false, "start the MCP servers that agents use, and stop them again")
	f.BoolVar(&asJSON, "json", false, "print an object on a line for each finding")
	return cmd
}

func printFinding(w io.Writer, f object.Finding) error {
	text := fmt.Sprintf("%-9s  %-13s  %s\n", f.Level, f.Check, f.Finding)
	if f.Cure != "" {
		text += fmt.Sprintf("%-9s  %-13s  → %s\n", "", "", f.Cure)
	}
	_, err := io.WriteString(w, text)
	return err
}

// diagnosis returns the error with the exit code for what was found; nil if there is no problem.
func diagnosis(found []object.Finding) error {
	problems, code := 0, exit.Unwell
	for _, f := range found {
		if f.Level != object.Wrong {
			continue
		}
		problems++
		if f.Check == "connection" {
			code = exit.Unreachable
		}
	}
	switch problems {
	case 0:
		return nil
	case 1:
		return exit.Errorf(code, "1 problem was found")
	}
	return exit.Errorf(code, "%d problems were found", problems)
}
