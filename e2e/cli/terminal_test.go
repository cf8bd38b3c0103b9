package cli_test

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// terminal starts a starter command on a terminal. The program script, a part of util-linux, makes the terminal. The
// arguments must not contain single quotes.
func terminal(w *world.World, args ...string) *world.Process {
	w.T.Helper()
	line := world.Binary("starter")
	for _, arg := range args {
		line += " '" + arg + "'"
	}
	return w.StartCommand(w.CommandOf("script", "-qefc", line, "/dev/null"))
}

// On a terminal, starter prints the text of a reply while the model writes it. The complete message then replaces this
// text.
func TestTextGrowsOnATerminal(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no script of util-linux to make a terminal")
	}
	const said = "The quick brown fox jumps over the lazy dog."
	s := newSpeech(5, 5) // each stream stops after four pieces
	w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) { return llmtest.Say(said), nil }, nil, "", s.paces)
	defer s.release()
	w.Worker()
	const faint, begun = "\x1b[2m", "The quick brown fox jumps ov"
	grows := func(p *world.Process) {
		t.Helper()
		says(w, p, faint+begun+"\x1b[0m")
		require.NotContains(t, p.Output(), said)
	}
	ends := func(p *world.Process) {
		t.Helper()
		says(w, p, "\x1b[J"+said+"\r\n")
		require.Equal(t, 1, strings.Count(p.Output(), said+"\r\n"), "once")
	}
	run := terminal(w, "run", "--chat", "--id", t.Name(), "speak")
	grows(run)
	s.open[0] <- false
	ends(run)
	w.Eventually("run ends", run.Ended)

	tail := terminal(w, "tail", "--last", "0", t.Name())
	send := terminal(w, "send", t.Name(), "again")
	grows(tail)
	grows(send)
	s.open[1] <- false
	ends(tail)
	ends(send)
	w.Eventually("send ends", send.Ended)
	w.Must("close", t.Name())
	w.Eventually("tail ends", tail.Ended)
	require.NotContains(t, w.Must("tail", t.Name()), "\x1b", "this is no terminal")
}

// On a terminal, run, send, aside and show render the Markdown of a reply. Without colours, without a terminal and with --json, the text is
// what the model wrote. Nothing that the model writes controls the terminal.
func TestMarkdownIsRenderedOnATerminalOnly(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no script of util-linux to make a terminal")
	}
	const text = "# Plan\n\nThis is **bold** and no escape: \x1b[2J."
	const rendered, plain = "This is \x1b[1mbold\x1b[m", "This is **bold** and no escape: \\x1b[2J."
	w := world.New(t, func(context.Context, llm.Request) (llm.Reply, error) { return llmtest.Say(text), nil }, nil, "")
	w.Worker()
	on := func(args ...string) string {
		t.Helper()
		p := terminal(w, args...)
		w.Eventually(args[0]+" ends", p.Ended)
		out := p.Output()
		require.NotContains(t, out, "\x1b[2J")
		return out
	}
	shows := [][]string{
		{"run", "--chat", "--id", t.Name(), "hello"}, {"send", t.Name(), "again"}, {"aside", t.Name(), "why?"}, {"show", t.Name()},
		{"run", "-q", "--id", t.Name() + "2", "hello"},
	}
	for _, args := range shows {
		require.Contains(t, on(args...), rendered, args[0])
	}
	require.Contains(t, on("send", "--json", t.Name(), "json"), "**bold**")
	out, _, code := w.Starter("send", t.Name(), "plain")
	require.Zero(t, code)
	require.Equal(t, "# Plan\n\n"+plain+"\n", out)
	t.Setenv("NO_COLOR", "1")
	require.Contains(t, on("send", t.Name(), "no colour"), plain)
}
