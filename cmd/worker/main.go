// Command worker serves the agents of a configuration. It runs their workflows, calls their models and runs their tools.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

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
		fmt.Fprintln(stderr, "worker: "+err.Error())
		if errors.As(err, new(mistakesError)) {
			return mistakes
		}
		return 1
	}
	return 0
}
