// Command worker serves the agents of a configuration. It runs their workflows, calls their models and runs their tools.
package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/app/serve"
	"github.com/reagent-dev/reagent/internal/printable"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	// The output may contain text of unknown origin, such as names of MCP tools and messages of endpoints.
	stdout, stderr = printable.NewWriter(stdout), printable.NewWriter(stderr)
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	if err := cmd.Execute(); err != nil {
		code := 1
		if errors.As(err, new(mistakesError)) {
			code = mistakes
		}
		asJSON, _ := cmd.Flags().GetBool("json")
		format, _ := cmd.Flags().GetString("log-format")
		switch {
		case asJSON:
			// Nobody can be told that standard error cannot be written.
			_ = object.Print(stderr, object.Error{Error: err.Error(), ExitCode: code, Commands: []string{}})
		case format == serve.LogJSON:
			slog.New(slog.NewJSONHandler(stderr, nil)).Error("the worker ended", "error", err.Error())
		default:
			fmt.Fprintln(stderr, "worker: "+err.Error())
		}
		return code
	}
	return 0
}
