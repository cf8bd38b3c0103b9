package cli_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// On terminals of three sizes, a chat leaves the same words behind, although the chat and the worker are killed in the middle.
func TestChatKeepsItsWordsAtEachSize(t *testing.T) {
	needTmux(t)
	const long = "The quick brown fox jumps over the lazy dog, and then it rests for a while in the shade of an old tree."
	const list = "1. First comes the flour, which should be as fresh as you can get it.\n2. Then come the eggs."
	tools := world.NewToolServer(t)
	tools.Add("pay", nil, world.Echo)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Role == llm.Tool:
			return llmtest.Say("It is paid, as you wished."), nil
		case last.Content == "pay":
			return llmtest.Call(llmtest.ToolCall("1", "pay", `{"n":1}`)), nil
		case last.Content == "list":
			return llmtest.Say(list), nil
		}
		return llmtest.Say(long), nil
	}, tools, "    tools: [far.*]\n    approval: {default: always}\n")
	worker := w.Worker()
	var first string
	for _, size := range []struct{ columns, lines int }{{80, 24}, {120, 40}, {40, 15}} {
		id := fmt.Sprint(t.Name(), size.columns)
		p := newPane(w, "chat", "-a", "x", id)
		p.tmux("resize-window", "-x", fmt.Sprint(size.columns), "-y", fmt.Sprint(size.lines))
		p.types("hello")
		p.shows("old tree.", "waits for you")
		p.types("pay")
		p.shows("May pay run", "y approve")
		p.kill()
		worker.Kill()
		worker = w.Worker()
		p.tmux("respawn-pane", world.Binary("starter")+" chat "+id)
		p.shows("May pay run", "y approve")
		p.tmux("send-keys", "y")
		p.shows("It is paid, as you wished.", "waits for you")
		p.types("list")
		p.shows("Then come the eggs.", "waits for you")
		p.types("/quit")
		p.shows("Come back with")
		_, left, found := strings.Cut(p.tmux("capture-pane", "-p", "-J", "-S", "-1000"), "> hello")
		require.True(t, found)
		left, _, found = strings.Cut(left, "Agent "+id)
		require.True(t, found)
		words := strings.Join(strings.Fields(regexp.MustCompile(`\([0-9.]+s\)`).ReplaceAllString(left, "")), " ")
		if first == "" {
			first = words
		}
		require.Equal(t, first, words, "%d columns", size.columns)
		for _, said := range []string{long, "It is paid, as you wished.", "First comes the flour, which should be as fresh as you can get it."} {
			require.Equal(t, 1, strings.Count(words, said), "%s", words)
		}
	}
	w.NothingTwice()
}
