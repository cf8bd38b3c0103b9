package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	reagent "github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A program that watches an agent gets the output of a command while the command runs, without the secrets of the worker. The result
// of the command is the same as without a watcher.
func TestOutputComesWhileTheCommandRuns(t *testing.T) {
	const key = "sk-4f9a8b7c6d5e4f3a2b1c"
	t.Setenv("PROGRESS_KEY", key)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "key"), []byte(key), 0o600))
	const command = `{"command":"echo building with $(cat key); until [ -e go ]; do sleep 0.02; done; echo built"}`
	w := world.New(t, world.Script(llmtest.Call(llmtest.ToolCall("c1", "shell", command)), llmtest.Say("done")), nil, "")
	w.WriteConfig(fmt.Sprintf(`task_queue: %s
models:
  main: {model: scripted, base_url: %q, api_key_env: PROGRESS_KEY}
builtin:
  shell: {folder: %q, timeout: 1m}
agents:
  x: {model: main, tools: [shell], approval: {shell: never}}
`, w.Queue, w.Model.URL, folder))
	w.Worker("--heartbeat-timeout", "10m") // so that a heartbeat comes only if there is new output
	_, err := w.Client.Start(t.Context(), reagent.StartOptions{ID: t.Name(), Agent: "x", Message: "build", PartialText: true})
	require.NoError(t, err)

	seen := false // before the command has ended
	for p, err := range w.Client.Watch(t.Context(), t.Name(), 0) {
		require.NoError(t, err)
		if len(p.ToolOutputs) > 0 {
			require.Len(t, p.ToolOutputs, 1)
			got := p.ToolOutputs[0]
			require.Contains(t, []string{"building with [hidden]\n", "building with [hidden]\nbuilt\n"}, got.Text)
			require.Equal(t, reagent.ToolOutput{
				Key: got.Key, CallID: "c1", Name: "shell", Text: got.Text, Said: len(got.Text) + len(key) - len("[hidden]"), Attempt: 1,
			}, got)
			require.NotEmpty(t, got.Key)
			seen = true
			require.NoError(t, os.WriteFile(filepath.Join(folder, "go"), nil, 0o600))
		}
		if p.Message != nil && p.Message.Role == llm.Tool {
			require.True(t, seen)
			require.Equal(t, "building with [hidden]\nbuilt\n[exit code 0]\n", p.Message.Content)
		}
		if p.Status.Ended() {
			require.Equal(t, reagent.Completed, p.Status)
			require.Empty(t, p.ToolOutputs)
			break
		}
	}
	require.True(t, seen)
}
