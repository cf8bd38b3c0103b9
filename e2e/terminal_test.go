package e2e_test

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// terminal starts a starter command on a terminal of its own, which script of util-linux gives it.
func (w *world) terminal(args ...string) *process {
	w.t.Helper()
	line := binary("starter")
	for _, arg := range args {
		line += " '" + arg + "'"
	}
	return w.startCommand(w.commandOf("script", "-qefc", line, "/dev/null"))
}

// On a terminal the words show while the model speaks, and the message takes their place.
func TestTextGrowsOnATerminal(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no script of util-linux to make a terminal")
	}
	const said = "The quick brown fox jumps over the lazy dog."
	s := newSpeech(5, 5) // after four pieces
	w := newWorld(t, func(context.Context, llm.Request) (llm.Reply, error) { return llmtest.Say(said), nil }, nil, "", s.paces)
	defer s.release()
	w.worker()
	const faint, begun = "\x1b[2m", "The quick brown fox jumps ov"
	grows := func(p *process) {
		t.Helper()
		w.says(p, faint+begun+"\x1b[0m")
		require.NotContains(t, p.output(), said)
	}
	ends := func(p *process) {
		t.Helper()
		w.says(p, "\x1b[J"+said+"\r\n")
		require.Equal(t, 1, strings.Count(p.output(), said+"\r\n"), "once")
	}
	run := w.terminal("run", "--chat", "--id", t.Name(), "speak")
	grows(run)
	s.open[0] <- false
	ends(run)
	w.eventually("run ends", run.ended)

	tail := w.terminal("tail", "--last", "0", t.Name())
	send := w.terminal("send", t.Name(), "again")
	grows(tail)
	grows(send)
	s.open[1] <- false
	ends(tail)
	ends(send)
	w.eventually("send ends", send.ended)
	w.must("close", t.Name())
	w.eventually("tail ends", tail.ended)
	require.NotContains(t, w.must("tail", t.Name()), "\x1b", "this is no terminal")
}
