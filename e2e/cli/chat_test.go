package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// pane is a terminal of tmux, in which the starter runs.
type pane struct {
	w      *world.World
	socket string
}

// newPane starts a starter command in a terminal with 80 columns and 30 lines.
func newPane(w *world.World, args ...string) *pane {
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
	start := w.CommandOf("tmux", append([]string{"-S", p.socket, "-f", settings, "new-session", "-d", "-x", "80", "-y", "30", world.Binary("starter")}, args...)...)
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

// kill kills the program in the terminal with SIGKILL.
func (p *pane) kill() {
	p.w.T.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_pid}")))
	require.NoError(p.w.T, err)
	require.NoError(p.w.T, syscall.Kill(pid, syscall.SIGKILL))
	p.w.Eventually("the chat is dead", func() bool { return strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_dead}")) == "1" })
}

// A person talks with an agent on a terminal. Text grows, Esc interrupts, a key approves a call, and the conversation goes on after the
// chat or the worker was killed in the middle of a reply.
func TestChatOnATerminal(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux; .ci/run installs it")
	}
	const said = "The quick brown fox jumps over the lazy dog."
	const begun = "The quick brown fox jumps ov"
	s := newSpeech(-1, 5, -1, -1, 5, 5)
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Role == llm.Tool:
			return llmtest.Say("It is paid."), nil
		case last.Content == "hello":
			return llmtest.Say("# Welcome\n\nThis is **bold**, and this is no escape: \x1b[2J &#27;[2J."), nil
		case last.Content == "pay":
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{"amount": 10, "to": "kim"}`)), nil
		}
		return llmtest.Say(said), nil
	}, tools, "    tools: [far.*]\n    approval: {default: always}\n", s.paces)
	defer s.release()
	worker := w.Worker()

	p := newPane(w, "chat", "-a", "x", t.Name())
	p.shows("Your first message starts agent " + t.Name())
	p.types("hello")
	p.shows("> hello", "Welcome", "This is bold", `\x1b[2J &#27;[2J`, "waits for you")

	p.types("speak")
	p.shows(begun, "Esc interrupts")
	p.tmux("send-keys", "Escape")
	p.shows("Interrupted.", "interrupted, waits for you")
	require.NotContains(t, p.screen(), said)

	p.types("pay")
	p.shows("May pay run with these arguments?", `"amount": 10`, "y approve")
	require.Empty(t, tools.Effects())
	p.tmux("send-keys", "y")
	p.shows("Approved pay.", `▸ pay {"amount": 10, "to": "kim"} → did {"amount":10,"to":"kim"}`, "It is paid.", "waits for you")

	p.types("speak more")
	p.shows(begun)
	p.kill()
	p.tmux("respawn-pane", world.Binary("starter")+" chat "+t.Name())
	p.shows("> hello", "It is paid.", "> speak more", begun)
	s.open[4] <- false
	p.shows(said, "waits for you")

	p.types("once more")
	p.shows("> once more\n\n"+begun, "works")
	worker.Kill()
	w.Worker()
	p.shows("> once more\n\n"+said, "waits for you")
	require.Equal(t, 2, strings.Count(p.screen(), said))

	p.tmux("set-buffer", "pasted one\npasted two")
	p.tmux("paste-buffer", "-p")
	p.shows("> pasted one\n> pasted two")
	p.tmux("resize-window", "-x", "40", "-y", "20")
	p.tmux("send-keys", "Enter")
	p.shows("> pasted one\n  pasted two\n\nThe quick brown fox jumps over the lazy\ndog.\n", "waits for you")

	p.tmux("send-keys", "C-c")
	p.shows("Press Ctrl-C again to detach")
	p.tmux("send-keys", "C-c")
	p.shows("Come back with")
	lines := w.Show(t.Name()).Lines()
	require.Equal(t, "assistant: "+said, lines[len(lines)-1])
	require.Equal(t, []int{1}, world.Values(tools.Effects()))
}

// Without a terminal, a chat reads a message from each line, and prints the answers and no control sequence.
func TestChatWithoutATerminal(t *testing.T) {
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Role == llm.Tool:
			return llmtest.Say("You chose " + last.Content), nil
		case last.Content == "choose":
			return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question": "Red or blue?"}`)), nil
		default:
			return llmtest.Say("\x1b[1mAnswer to **" + last.Content + "**"), nil
		}
	}, nil, "    tools: [ask_user]\n")
	w.Worker()
	out, errs, code := w.StarterWith("hello\nchoose\nblue\n", "chat", "-a", "x", t.Name())
	require.Zero(t, code, errs)
	require.Equal(t, "\\x1b[1mAnswer to **hello**\nYou chose blue\n", out)
	require.Contains(t, errs, "Question: Red or blue?")
	require.Contains(t, errs, "starter chat "+t.Name())
	require.NotContains(t, out+errs, "\x1b")

	out, errs, code = w.StarterWith("again", "chat", t.Name())
	require.Zero(t, code, errs)
	require.Equal(t, "\\x1b[1mAnswer to **again**\n", out, "the chat goes on")
	w.Must("close", t.Name())
	w.Ends(t.Name(), "completed")
	_, errs, code = w.StarterWith("late", "chat", t.Name())
	require.Equal(t, 4, code)
	require.Contains(t, errs, "starter fork "+t.Name())
	_, errs, code = w.StarterWith("late", "chat", t.Name()+"-nobody")
	require.Equal(t, 4, code)
	require.Contains(t, errs, "starter list")
}
