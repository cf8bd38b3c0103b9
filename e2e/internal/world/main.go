// Package world is what the end-to-end tests share: the Temporal server and the programs of one test process, and the
// surroundings of one test. These are a model endpoint and tools that are spoken to over HTTP and count what arrives, worker
// processes that are really killed, a proxy that fails, a codec server.
//
// The folders beside this one hold the tests, each with a server of its own. What is asserted is counted at the far side. Tests that wait
// for seconds, mostly for Temporal to notice a death, are parallel: go test gives each folder ten minutes.
package world

import (
	"context"
	"fmt"
	"os"
	"testing"

	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/devserver"
)

var (
	// Server is the Temporal server that the tests of a folder share. Main starts it.
	Server *devserver.Server
	// Temporal is a client of Server.
	Temporal sdk.Client
	// binaries is the folder of the programs that the tests have built.
	binaries string
)

// Main builds the worker and the starter, starts Server, and runs the tests. It returns the exit code. Each folder calls it in its
// TestMain.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "reagent-e2e-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	binaries = dir
	if err := Build(dir, "./cmd/worker", "./cmd/starter"); err != nil {
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
	options, err := config.ClientOptions(Server.Address(), "")
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
