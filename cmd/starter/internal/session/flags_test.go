package session

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
	t.Setenv(ConfigEnv, "")
	queue := func(g *Flags) string {
		t.Helper()
		q, err := g.TaskQueue()
		require.NoError(t, err)
		return q
	}
	require.Equal(t, "agents", queue(&Flags{}), "no file is no mistake")

	write(t, "agents.yaml", "task_queue: here\n"+minimal)
	require.Equal(t, "here", queue(&Flags{}))
	write(t, "env.yaml", "task_queue: env\n"+minimal)
	t.Setenv(ConfigEnv, "env.yaml")
	require.Equal(t, "env", queue(&Flags{}))
	write(t, "flag.yaml", "task_queue: flag\n"+minimal)
	require.Equal(t, "flag", queue(&Flags{ConfigPath: "flag.yaml"}))
	require.Equal(t, "q", queue(&Flags{ConfigPath: "none.yaml", Queue: "q"}))
}

func TestWrongConfigurationIsAUsageMistake(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(ConfigEnv, "")
	_, err := (&Flags{ConfigPath: "none.yaml"}).config()
	dir, wdErr := os.Getwd()
	require.NoError(t, wdErr)
	require.EqualError(t, err, "there is no configuration file none.yaml in "+dir+": name one with --config or REAGENT_CONFIG")
	require.Equal(t, exit.Usage, exit.CodeOf(err))
	_, err = (&Flags{ConfigPath: "/none/none.yaml"}).config()
	require.EqualError(t, err, "there is no configuration file /none/none.yaml: name one with --config or REAGENT_CONFIG")

	write(t, "agents.yaml", "task_queue: q\n")
	_, err = (&Flags{}).config()
	require.EqualError(t, err, "agents.yaml:1: agents: missing; define at least one agent")
	require.Equal(t, exit.Usage, exit.CodeOf(err))
}

// REAGENT_CONFIG has a relative path, and the user has changed the folder. run names the missing file, unless the flags give
// everything that it needs.
func TestNewcomerExportsARelativeConfigurationAndChangesTheFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(ConfigEnv, "agents.yaml")
	g := &Flags{}
	_, err := g.AgentName("x")
	require.ErrorContains(t, err, "REAGENT_CONFIG names the configuration file agents.yaml, which does not exist in /")
	require.Equal(t, exit.Usage, exit.CodeOf(err))
	g.Queue = "agents"
	name, err := g.AgentName("x")
	require.NoError(t, err)
	require.Equal(t, "x", name)
	_, err = g.AgentName("")
	require.Equal(t, exit.Usage, exit.CodeOf(err))
}

func TestNoTemporalIsSaidAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))

	began := time.Now()
	_, err = (&Flags{Address: address}).Dial(t.Context())
	require.EqualError(t, err, "no Temporal at "+address+": start one with `go run ./cmd/starter dev`, or set TEMPORAL_ADDRESS")
	require.Equal(t, exit.Unreachable, exit.CodeOf(err))
	require.Less(t, time.Since(began), 2*time.Second)
}

func TestWrongAddressIsAUsageMistake(t *testing.T) {
	_, err := (&Flags{Address: "http://127.0.0.1:7233"}).Dial(t.Context())
	require.Equal(t, exit.Usage, exit.CodeOf(err))
	require.ErrorContains(t, err, "must be host:port")
}

func write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
}
