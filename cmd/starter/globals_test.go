package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/cmd/starter/internal/exit"
)

const minimal = "models: {main: {model: m}}\nagents: {a: {model: main}}\n"

func TestTaskQueueIsTheFlagsThenTheFilesThenTheDefault(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(configEnv, "")
	queue := func(g *globals) string {
		t.Helper()
		q, err := g.taskQueue()
		require.NoError(t, err)
		return q
	}
	require.Equal(t, "agents", queue(&globals{}), "no file is no mistake")

	write(t, "agents.yaml", "task_queue: here\n"+minimal)
	require.Equal(t, "here", queue(&globals{}))
	write(t, "env.yaml", "task_queue: env\n"+minimal)
	t.Setenv(configEnv, "env.yaml")
	require.Equal(t, "env", queue(&globals{}))
	write(t, "flag.yaml", "task_queue: flag\n"+minimal)
	require.Equal(t, "flag", queue(&globals{configPath: "flag.yaml"}))
	require.Equal(t, "q", queue(&globals{configPath: "none.yaml", queue: "q"}))
}

func TestWrongConfigurationIsAUsageMistake(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(configEnv, "")
	_, err := (&globals{configPath: "none.yaml"}).config()
	dir, wdErr := os.Getwd()
	require.NoError(t, wdErr)
	require.EqualError(t, err, "there is no configuration file none.yaml in "+dir+": name one with --config or REAGENT_CONFIG")
	require.Equal(t, exit.Usage, exit.CodeOf(err))
	_, err = (&globals{configPath: "/none/none.yaml"}).config()
	require.EqualError(t, err, "there is no configuration file /none/none.yaml: name one with --config or REAGENT_CONFIG")

	write(t, "agents.yaml", "task_queue: q\n")
	_, err = (&globals{}).config()
	require.EqualError(t, err, "agents.yaml:1: agents: missing; define at least one agent")
	require.Equal(t, exit.Usage, exit.CodeOf(err))
}

// REAGENT_CONFIG has a relative path, and the user has changed the folder. run names the missing file, unless the flags give
// everything that it needs.
func TestNewcomerExportsARelativeConfigurationAndChangesTheFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(configEnv, "agents.yaml")
	g := &globals{}
	_, err := g.agentName("x")
	require.ErrorContains(t, err, "REAGENT_CONFIG names the configuration file agents.yaml, which does not exist in /")
	require.Equal(t, exit.Usage, exit.CodeOf(err))
	g.queue = "agents"
	name, err := g.agentName("x")
	require.NoError(t, err)
	require.Equal(t, "x", name)
	_, err = g.agentName("")
	require.Equal(t, exit.Usage, exit.CodeOf(err))
}

func TestNoTemporalIsSaidAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))

	began := time.Now()
	_, err = (&globals{address: address}).dial(t.Context())
	require.EqualError(t, err, "no Temporal at "+address+": start one with `go run ./cmd/starter dev`, or set TEMPORAL_ADDRESS")
	require.Equal(t, exit.Unreachable, exit.CodeOf(err))
	require.Less(t, time.Since(began), 2*time.Second)
}

func TestWrongAddressIsAUsageMistake(t *testing.T) {
	_, err := (&globals{address: "http://127.0.0.1:7233"}).dial(t.Context())
	require.Equal(t, exit.Usage, exit.CodeOf(err))
	require.ErrorContains(t, err, "must be host:port")
}

func write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
}
