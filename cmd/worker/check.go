package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/reagent-dev/reagent/internal/app/serve"
)

// check holds the flags of worker --check.
type check struct {
	serve.CheckOptions

	only   bool
	asJSON bool
}

// mistakesError says that a configuration has mistakes, which were printed. The exit code of the process is then [mistakes].
type mistakesError struct{ error }

// mistakes is the exit code of worker --check for a configuration with mistakes. It is that of starter check.
const mistakes = 2

func (c check) run(cmd *cobra.Command) error {
	if !c.only {
		return errors.New("--json, --no-environment and --no-mcp-servers need --check; add it, or leave them out")
	}
	// The MCP servers that were started end with the check.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := serve.Check(ctx, c.CheckOptions, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := report.Write(cmd.OutOrStdout(), c.asJSON); err != nil {
		return err
	}
	if !report.OK {
		return mistakesError{errors.New(report.Summary())}
	}
	return nil
}
