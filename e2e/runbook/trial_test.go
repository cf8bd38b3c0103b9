package runbook_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/internal/app/devserver"
	"github.com/reagent-dev/reagent/llm"
)

// trial is a staged failure with a Temporal server of its own, because the commands of the page are for all agents of a namespace.
type trial struct {
	*world.World
	// folder is where the commands run, and env has what the page says is set.
	folder string
	env    map[string]string
}

// stage starts a server. The model and the tools are those of [world.New].
func stage(t *testing.T, model func(context.Context, llm.Request) (llm.Reply, error), tools *world.ToolServer, extra string) *trial {
	t.Helper()
	own, err := devserver.Start(t.Context(), devserver.Options{})
	require.NoError(t, err)
	t.Cleanup(own.Stop)
	return stageOn(t, own, model, tools, extra)
}

func stageOn(
	t *testing.T, own *devserver.Server, model func(context.Context, llm.Request) (llm.Reply, error), tools *world.ToolServer, extra string,
) *trial {
	t.Helper()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("there is no jq on this machine")
	}
	w := world.New(t, model, tools, extra)
	w.MoveTo(own)
	return &trial{w, t.TempDir(), map[string]string{
		"TEMPORAL_ADDRESS": own.Address(), "REAGENT_CONFIG": w.Config, "REAGENT_HEALTH_LISTEN": fmt.Sprintf("127.0.0.1:%d", world.FreePort(t)),
	}}
}

var block = regexp.MustCompile("(?ms)^```bash (\\S+)\n(.*?)^```$")

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(world.Path("docs/runbook.md"))
	require.NoError(t, err)
	return string(text)
}

// blocks returns the commands of the page by their names.
func blocks(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, m := range block.FindAllStringSubmatch(page(t), -1) {
		all[m[1]] = m[2]
	}
	return all
}

// follow runs commands of the page as they stand there, and returns what they print. Programs that they start run until the test ends.
func (s *trial) follow(name string, env ...string) string {
	s.T.Helper()
	commands := blocks(s.T.(*testing.T))[name]
	require.NotEmpty(s.T, commands, name)
	cmd := exec.Command("bash", "-eu", "-o", "pipefail", "-c", commands)
	cmd.Dir = s.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(world.Binary("starter"))+":"+os.Getenv("PATH"))
	for key, value := range s.env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	cmd.Env = append(cmd.Env, env...)
	p, err := world.StartProcess(cmd)
	require.NoError(s.T, err)
	s.T.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	s.Eventually("the commands of "+name+" have ended: "+commands, p.Ended)
	require.Zero(s.T, cmd.ProcessState.ExitCode(), "%s\n%s%s", commands, p.Output(), s.logs())
	return p.Output()
}

// logs returns what the workers of the commands have logged.
func (s *trial) logs() string {
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(s.folder, "*.log"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		fmt.Fprintf(&all, "%s:\n%s", file, text)
	}
	return all.String()
}
