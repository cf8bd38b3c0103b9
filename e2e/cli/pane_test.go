package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
)

// pane is a terminal of tmux, in which the starter runs.
type pane struct {
	w      *world.World
	socket string
}

// needTmux skips a test on a machine without tmux.
func needTmux(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux; .ci/run installs it")
	}
}

// newPane starts a starter command in a terminal with 80 columns and 30 lines.
func newPane(w *world.World, args ...string) *pane {
	w.T.Helper()
	return newPaneOf(w, append([]string{world.Binary("starter")}, args...)...)
}

// newPaneOf starts a program in a terminal with 80 columns and 30 lines.
func newPaneOf(w *world.World, command ...string) *pane {
	w.T.Helper()
	dir, err := os.MkdirTemp("", "tmux") // a socket's path is short, and that of T.TempDir may be long
	require.NoError(w.T, err)
	p := &pane{w, filepath.Join(dir, "s")}
	w.T.Cleanup(func() {
		if w.T.Failed() {
			w.T.Logf("the last screen:\n%s", p.screen())
		}
		_ = exec.Command("tmux", "-S", p.socket, "kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	settings := filepath.Join(dir, "conf")
	require.NoError(w.T, os.WriteFile(settings, []byte("set -g remain-on-exit on\n"), 0o600))
	start := w.CommandOf("tmux", append([]string{"-S", p.socket, "-f", settings, "new-session", "-d", "-x", "80", "-y", "30"}, command...)...)
	out, err := start.CombinedOutput()
	require.NoError(w.T, err, "%s", out)
	return p
}

func (p *pane) tmux(args ...string) string {
	p.w.T.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	require.NoError(p.w.T, err, "tmux %v: %s", args, out)
	return string(out)
}

// screen returns the text on the screen, without spaces at the ends of lines.
func (p *pane) screen() string {
	out, _ := exec.Command("tmux", "-S", p.socket, "capture-pane", "-p").CombinedOutput()
	return string(out)
}

// shows waits until the screen contains all the given texts.
func (p *pane) shows(texts ...string) {
	p.w.T.Helper()
	p.w.Eventually("the screen shows "+strings.Join(texts, ", "), func() bool {
		now := p.screen()
		for _, text := range texts {
			if !strings.Contains(now, text) {
				return false
			}
		}
		return true
	})
}

// types writes a text on the keyboard and presses Enter.
func (p *pane) types(text string) {
	p.w.T.Helper()
	p.tmux("send-keys", "-l", text)
	p.shows("> " + text)
	p.tmux("send-keys", "Enter")
}

// records begins to record what programs write to the terminal. The result returns the record.
func (p *pane) records() func() string {
	file := filepath.Join(p.w.T.TempDir(), "written")
	p.tmux("pipe-pane", "cat > "+file)
	return func() string {
		written, err := os.ReadFile(file)
		require.NoError(p.w.T, err)
		return string(written)
	}
}

// kill kills the program in the terminal with SIGKILL.
func (p *pane) kill() {
	p.w.T.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_pid}")))
	require.NoError(p.w.T, err)
	require.NoError(p.w.T, syscall.Kill(pid, syscall.SIGKILL))
	p.w.Eventually("the chat is dead", func() bool { return strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_dead}")) == "1" })
}
