package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/usage"
	"github.com/reagent-dev/reagent/internal/version"
)

const rootHelp = `starter runs a Temporal development server, starts agents, talks to them and
shows what they did. The agents themselves run in a worker (cmd/worker).

Flags go before or after the arguments. Everything after -- is taken as it is,
whatever it begins with.

Temporal is looked for at --address, else where TEMPORAL_ADDRESS,
TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_PROFILE and their like say, else
at 127.0.0.1:7233.

` + exitCodeHelp

const rootExample = `  starter demo                                    # see it work, with nothing set up
  starter dev                                     # a server with Web UI, in one terminal
  starter run -a assistant What time is it?       # in another, with a worker up
  starter list                                    # what there is
  starter help dev                                # what a command takes`

// run is the program: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runRoot(newRoot(), args, stdin, stdout, stderr)
}

// runRoot runs a command line with a root command.
func runRoot(root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// SIGHUP too: a closed terminal must not leave a server behind. After the
	// first signal the others have their default effect, so that a second Ctrl-C
	// ends a program that does not listen to the first.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)

	// Whatever a command prints may hold text of others: names, IDs, the words of models and tools.
	stdout, stderr = printable.NewWriter(stdout), printable.NewWriter(stderr)
	err := execute(ctx, root, args, stdin, stdout, stderr)
	code := codeOf(err)
	if code == exitFailure && ctx.Err() != nil {
		// Whatever failed then failed because of the signal.
		code, err = exitInterrupted, errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(stderr, "starter: "+err.Error())
	}
	return int(code)
}

// newRoot makes the root command with all of its commands.
func newRoot() *cobra.Command {
	g := &globals{}
	// In the order in which a person comes to need them.
	cobra.EnableCommandSorting = false
	root := &cobra.Command{
		Use:     "starter",
		Short:   "Run durable agents on Temporal",
		Long:    rootHelp,
		Example: rootExample,
		Version: version.String(),
		// Errors are printed once, by run, and without the usage text, in which
		// one line would drown.
		SilenceErrors: true,
		SilenceUsage:  true,
		// With arguments, so that an unknown command is an error and not the help.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exitf(exitUsage, "unknown command %q%s; see `starter --help`", args[0], similar(cmd, args[0]))
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(usage.FlagError)
	g.register(root)
	root.AddCommand(newDemo(g), newDemoWorker(g), newDev(g), newRun(g), newSend(g), newTail(g), newShow(g), newList(g),
		newResume(g), newFork(g), newReload(g), newUpgrade(g), newClose(g), newCancel(g), newRemove(g))
	return root
}

// execute runs a command line. Whatever cobra refuses before a command begins is
// a mistake in the command line.
func execute(ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var coded *exitError
	if err != nil && !began && !errors.As(err, &coded) {
		return exitf(exitUsage, "%w; see `%s --help`", err, cmd.CommandPath())
	}
	return err
}

// similar is the part of a message that names what may have been meant.
func similar(cmd *cobra.Command, name string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 && near[0] != name {
		return ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}
