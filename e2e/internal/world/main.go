// Package world helps to write end-to-end tests. [Main] starts a Temporal server and builds the programs for all tests of a
// folder. [World] is what one test works with: a model endpoint, tools, and worker processes that the test can kill. The
// endpoint and the tools are HTTP servers that count what reaches them, and most tests assert these counts. There are also a
// proxy that disturbs the network, and a codec server.
//
// The tests are in the other folders of e2e. Each folder has a Temporal server of its own. Tests that wait for seconds, mostly
// until Temporal notices that a worker died, are parallel: go test gives each folder ten minutes.
package world

import (
	"context"
	"fmt"
	"os"
	"testing"

	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/internal/dial"
)

var (
	// Server is the Temporal server that the tests of a folder share. Main starts it.
	Server *devserver.Server
	// Temporal is a client of Server.
	Temporal sdk.Client
	// binaries is the folder of the programs that the tests have built.
	binaries string
)

// Main runs all tests of a folder and returns the exit code. Before that, it builds the worker and the starter, and starts
// [Server]. The TestMain of each folder calls it.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "reagent-e2e-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	binaries = dir
	if err := Build("", "./cmd/worker", "./cmd/starter"); err != nil {
		return failed(err)
	}
	if os.Getenv(codecForAll) != "" {
		codec := ServeCodec()
		defer codec.Close()
		UseCodec(codec, func(name, value string) { _ = os.Setenv(name, value) })
	}
	Server, err = devserver.Start(context.Background(), devserver.Options{Progress: os.Stderr, LogTo: os.Stderr})
	if err != nil {
		return failed(err)
	}
	defer Server.Stop()
	options, err := dial.ClientOptions(Server.Address(), "")
	if err != nil {
		return failed(err)
	}
	if Temporal, err = sdk.Dial(options); err != nil {
		return failed(err)
	}
	defer Temporal.Close()
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}
