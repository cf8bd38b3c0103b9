package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A person sends a file, answers a question after the worker was killed, writes in an editor, finds a text, and goes on with another chat.
// The question and the answer stand as text on the terminal when the chat has ended.
func TestChatWithAFileAQuestionAndAnEditor(t *testing.T) {
	needTmux(t)
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Role == llm.Tool:
			return llmtest.Say("You chose " + last.Content + ".\n\n```go\nreturn 1\n```"), nil
		case strings.HasSuffix(last.Content, "\n\n<file path=\"notes.md\">\none\ntwo\n</file>"):
			return llmtest.Call(llmtest.ToolCall("1", "ask_user", `{"question": "Which colour?", "choices": ["red", "blue"]}`)), nil
		case last.Content == "a text of the editor":
			return llmtest.Say("The editor has written it."), nil
		}
		return llmtest.Say("This is the other chat."), nil
	}, nil, "    tools: [ask_user]\n")
	worker := w.Worker()
	other := "other-" + t.Name()
	w.Must("run", "--chat", "--id", other, "hello")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.md"), []byte("one\ntwo\n"), 0o600))
	editor := filepath.Join(dir, "editor")
	require.NoError(t, os.WriteFile(editor, []byte("#!/bin/sh\necho a text of the editor > \"$1\"\n"), 0o700))
	t.Setenv("VISUAL", editor)

	p := newPaneOf(w, "sh", "-c", "cd "+dir+" && exec "+world.Binary("starter")+" chat -a x "+t.Name())
	p.tmux("resize-window", "-x", "120", "-y", "40")
	p.shows("Your first message starts agent " + t.Name())
	p.tmux("send-keys", "-l", "see @no")
	p.shows("» notes.md")
	p.tmux("send-keys", "Tab")
	p.shows("> see @notes.md\n")
	p.tmux("send-keys", "Enter")
	p.shows("> [file \"notes.md\": 2 lines]\n", "? Question: Which colour?\n    1  red\n    2  blue\n", "Enter answers the question")
	worker.Kill()
	w.Worker()
	p.types("2")
	p.shows("▸ Question: Which colour?\n  → blue\n", "  You chose blue.\n\n    return 1\n", "waits for you")

	p.tmux("send-keys", "C-g")
	p.shows("> a text of the editor\n")
	p.tmux("send-keys", "Enter")
	p.shows("  The editor has written it.\n")
	p.tmux("send-keys", "C-f")
	p.tmux("send-keys", "-l", "COLOUR")
	p.shows("Find: COLOUR · line ")
	p.tmux("send-keys", "Escape")
	p.shows("> Type a message\nEnter sends")
	p.tmux("send-keys", "-l", "/quit")
	p.shows("> /quit")
	p.tmux("send-keys", "Enter")
	p.shows("Come back with `starter chat " + t.Name())
	require.Contains(t, p.tmux("capture-pane", "-p", "-S", "-1000"), "▸ Question: Which colour?\n  → blue\n")

	p.tmux("respawn-pane", "-k", world.Binary("starter")+" chat "+t.Name())
	p.shows("> a text of the editor\n", "waits for you")
	p.tmux("send-keys", "-l", "/chats")
	p.shows("> /chats")
	p.tmux("send-keys", "Enter")
	p.shows("Chats\n» ")
	p.tmux("send-keys", "-l", other) // other tests have agents on this server, too
	p.shows("Chats " + other + "\n» " + other + " · x · ")
	p.tmux("send-keys", "Enter")
	p.shows("> hello\n\n  This is the other chat.\n", "· waits for you")
	w.NothingTwice()
}
