// Command starter is Reagent's command-line program for people. It runs a development server, starts agents, sends them messages
// and shows what they did.
package main

import (
	"os"

	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent/internal/version"
)

func main() {
	// The commands that show an agent replay its history. Without a name for the program, the SDK computes one from all its bytes for the
	// first replay, which takes longer than most replays.
	worker.SetBinaryChecksum(version.String())
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
