package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
	"github.com/reagent-dev/reagent/cmd/starter/internal/session"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/usage"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/version"
)

const rootHelp = `starter runs a Temporal development server, starts agents, sends them messages
and shows what they did. The agents themselves run in a worker (cmd/worker).

Flags go before or after the arguments. Everything after -- is an argument, even if
it begins with a dash.

The address of Temporal is --address, else TEMPORAL_ADDRESS, else the one in Temporal's
own file temporal.toml, else 127.0.0.1:7233. starter also reads Temporal's other
environment variables, such as TEMPORAL_NAMESPACE, TEMPORAL_API_KEY and
TEMPORAL_PROFILE (a profile in temporal.toml).

REAGENT_ENCRYPTION_KEYS_FILE is a file with keys that encrypt all payloads in Temporal,
REAGENT_ENCRYPTION_KEYS has the keys themselves, and REAGENT_ENCRYPTION_KEYS_COMMAND is a
command that prints them: see docs/encryption.md.

` + exit.Help

const rootExample = `  starter demo                                    # see it work; needs no setup
  starter dev                                     # a server with Web UI, in one terminal
  starter run -a assistant 'What time is it?'     # in another, while a worker runs
  starter list                                    # the agents
  starter help dev                                # the help of a command`

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runRoot(newRoot(), args, stdin, stdout, stderr)
}

func runRoot(root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// Handle SIGHUP, too: a closed terminal must not leave a server behind. After the first signal, all signals have their
	// default effect again. A second Ctrl-C therefore ends a program that does not react to the first one.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)

	// The output of a command may contain text of unknown origin, such as names, IDs, and the text of models and tools.
	stdout, stderr = printable.NewWriter(stdout), printable.NewWriter(stderr)
	cmd, err := execute(ctx, root, args, stdin, stdout, stderr)
	code := exit.CodeOf(err)
	if code == exit.Failure && ctx.Err() != nil {
		// After a signal, an error without a code of its own comes from the signal.
		code, err = exit.Interrupted, errors.New("interrupted")
	}
	switch {
	case err == nil:
	case wantsJSON(cmd, args):
		// Nobody can be told that standard error cannot be written.
		_ = object.Print(stderr, object.Error{Error: err.Error(), ExitCode: int(code), Commands: append([]string{}, exit.CommandsOf(err)...)})
	default:
		fmt.Fprintln(stderr, "starter: "+err.Error())
	}
	return int(code)
}

// wantsJSON reports whether the error of a command is printed as an object. If the command line is wrong, cobra has not read all of it.
func wantsJSON(cmd *cobra.Command, args []string) bool {
	asJSON := cmd.Flags().Lookup("json")
	if asJSON == nil {
		return false
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return asJSON.Changed && asJSON.Value.String() == "true" || !asJSON.Changed && slices.Contains(args, "--json")
}

func newRoot() *cobra.Command {
	g := &session.Flags{}
	// List the commands in the order in which a newcomer needs them.
	cobra.EnableCommandSorting = false
	root := &cobra.Command{
		Use:     "starter",
		Short:   "Run durable agents on Temporal",
		Long:    rootHelp,
		Example: rootExample,
		Version: version.String(),
		// [runRoot] prints the error, once and without the usage text. The usage text would hide the one line of the
		// error.
		SilenceErrors: true,
		SilenceUsage:  true,
		// Accept arguments here, so that RunE reports an unknown command as an error.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Errorf(exit.Usage, "unknown command %q%s; see `starter --help`", args[0], similar(cmd, args[0]))
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(usage.FlagError)
	g.Register(root)
	root.AddCommand(newDemo(g), newDemoWorker(g), newDev(g), newCheck(g), newSchema(), newSetup(g), newDoctor(g), newRun(g), newChat(g), newSend(g), newAside(g), newTail(g), newShow(g), newList(g), newInbox(g), newApprove(g), newDeny(g), newPermissions(g), newRevoke(g), newAnswer(g), newComplete(g),
		newResume(g), newFork(g), newRerun(g), newDiff(g), newReload(g), newUpgrade(g), newInterrupt(g), newClose(g), newCancel(g), newRemove(g), newForget(g), newAudit(g), newCodecServer(), newServe(g))
	return root
}

// An error before a command begins means that the command line is wrong, so execute gives it the code [exit.Usage].
func execute(ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) (*cobra.Command, error) {
	began, end := false, func(error) {}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		// Cobra checks the groups of flags after this function, with errors that a person cannot read.
		if err := usage.FlagGroups(cmd); err != nil {
			return err
		}
		began = true
		ctx, ended, err := traced(cmd.Context(), cmd)
		if err != nil {
			return exit.Errorf(exit.Usage, "%w", err)
		}
		end = ended
		cmd.SetContext(ctx)
		return nil
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	end(err)
	if err != nil && !began && !errors.As(err, new(*exit.Error)) {
		return cmd, exit.Errorf(exit.Usage, "%w; see `%s --help`", err, cmd.CommandPath())
	}
	return cmd, err
}

func similar(cmd *cobra.Command, name string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 && near[0] != name {
		return ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}
