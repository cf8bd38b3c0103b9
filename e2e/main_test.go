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
	"sync"
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
	if err := build(dir, "./cmd/worker", "./cmd/starter"); err != nil {
		return failed(err)
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

// binary returns the path of a program that this test has built; "" is the folder of all.
func binary(name string) string { return filepath.Join(binaries, name) }

// build builds programs of the module. To is a file, or a folder that exists; args are flags and packages.
func build(to string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", to}, args...)...)
	cmd.Dir = modulePath()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %v: %w\n%s", args, err, out)
	}
	return nil
}

// modulePath returns the absolute path of a file or folder of the module; without elements it is the module's root.
func modulePath(elem ...string) string {
	return filepath.Join(append([]string{moduleRoot()}, elem...)...)
}

// moduleRoot is the nearest folder above the test's own that has a go.mod.
var moduleRoot = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			panic("the tests run outside of the module")
		}
		dir = filepath.Dir(dir)
	}
})
