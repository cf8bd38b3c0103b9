package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/reagent-dev/reagent/config"
	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// The configurations in deploy are valid, and the programs there accept their arguments. The objects of Kubernetes are checked by
// internal/pins/kubernetes.
func TestDeployedProgramsAreConfigured(t *testing.T) {
	for _, path := range []string{"kubernetes/base/agents.yaml", "kubernetes/example/agents.yaml", "mcp/agents.yaml"} {
		cfg, err := config.Load(world.Path("deploy", path))
		require.NoError(t, err)
		require.Equal(t, "agents", cfg.TaskQueue, "the queue whose backlog KEDA watches")
	}
	var commands [][]string
	for _, path := range []string{"base/worker.yaml", "encryption/codec-server.yaml", "gateway/gateway.yaml"} {
		var deployment struct {
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct{ Command, Args []string }
					}
				}
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(read(t, "deploy/kubernetes/"+path)), &deployment))
		c := deployment.Spec.Template.Spec.Containers[0]
		if c.Command == nil {
			c.Command = []string{"worker"} // the image's own
		}
		commands = append(commands, append(c.Command, c.Args...))
	}
	units, err := filepath.Glob(world.Path("deploy/systemd/*.service"))
	require.NoError(t, err)
	for _, path := range units {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		started := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/(.*)$`).FindSubmatch(text)
		require.NotNil(t, started, path)
		commands = append(commands, strings.Fields(string(started[1])))
	}
	require.Len(t, commands, 6)
	w := &world.World{T: t}
	for _, c := range commands {
		require.Greater(t, len(c), 1)
		out, err := w.Command(c[0], append(c[1:], "--help")...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// systemd accepts the units, and waits longer for a worker than the worker drains.
func TestUnitsOfSystemdAreValid(t *testing.T) {
	units, err := filepath.Glob(world.Path("deploy/systemd/*.service"))
	require.NoError(t, err)
	require.NotEmpty(t, units)
	folder := t.TempDir()
	for _, path := range units {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if m := regexp.MustCompile(`--drain (\S+)`).FindSubmatch(text); m != nil {
			drain, err := time.ParseDuration(string(m[1]))
			require.NoError(t, err)
			stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindSubmatch(text)
			require.NotNil(t, stop)
			limit, err := time.ParseDuration(string(stop[1]) + "s")
			require.NoError(t, err)
			require.Greater(t, limit, drain)
		}
		// systemd-analyze wants a program that is there.
		copied := regexp.MustCompile(`(?m)^ExecStart=\S+`).ReplaceAll(text, []byte("ExecStart=/bin/true"))
		require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(path)), copied, 0o600))
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	for _, path := range units {
		out, err := exec.CommandContext(t.Context(), analyze, "verify", filepath.Join(folder, filepath.Base(path))).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NotContains(t, string(out), filepath.Base(path)+":", "what systemd ignores")
	}
}
