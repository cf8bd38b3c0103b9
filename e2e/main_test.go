// Package e2e_test runs agents on a real Temporal server, in real worker
// processes that are really killed, against a model endpoint and MCP servers that are
// spoken to over HTTP. What is asserted is counted at the far side.
//
// Tests that wait for seconds, mostly for Temporal to notice a death, are parallel: go test
// gives the package ten minutes.
package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	sdk "go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/internal/devserver"
)

// What all tests share: one server, its client, and the two binaries.
var (
	server   *devserver.Server
	temporal sdk.Client
	binaries string
)

func TestMain(m *testing.M) {
	if os.Getenv(counterEnv) != "" {
		serveCounter()
		return
	}
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "reagent-e2e-")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	binaries = dir
	build := exec.Command("go", "build", "-o", dir, "./cmd/worker", "./cmd/starter")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return failed(fmt.Errorf("build: %w\n%s", err, out))
	}
	if os.Getenv(codecForAll) != "" {
		codec := serveCodec()
		defer codec.Close()
		useCodec(codec, func(name, value string) { _ = os.Setenv(name, value) })
	}
	server, err = devserver.Start(context.Background(), devserver.Options{Progress: os.Stderr, LogTo: os.Stderr})
	if err != nil {
		return failed(err)
	}
	defer server.Stop()
	options, err := config.ClientOptions(server.Address(), "")
	if err != nil {
		return failed(err)
	}
	if temporal, err = sdk.Dial(options); err != nil {
		return failed(err)
	}
	defer temporal.Close()
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

func binary(name string) string { return filepath.Join(binaries, name) }
