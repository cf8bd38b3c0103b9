package workflows_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/workflows"
)

// Code with a higher key version replays every recorded history, because an agent keeps the version with which it started.
func TestRaisedKeyVersionReplaysRecordedHistories(t *testing.T) {
	out, err := replayWith(t, "../agent/key.go", "const KeyVersion = 1\n", "const KeyVersion = 2\n")
	require.NoError(t, err, out)
	require.Contains(t, out, "--- PASS: TestRecordedHistoriesReplay/", out)
}

// A driver that asks for a version before it does something new replays every recorded history. The same driver without the
// version does not.
func TestChangedDriverReplaysRecordedHistories(t *testing.T) {
	const now = "\td.state.Advance(d.now())\n"
	const change = "_ = workflow.NewTimer(d.root, 1e9)\n"
	const versioned = `if d.since("a change") { ` + "\n" + change + "}\n"
	out, err := replayWith(t, "driver.go", now, now+versioned)
	require.NoError(t, err, out)
	require.Contains(t, out, "--- PASS: TestRecordedHistoriesReplay/", out)

	out, err = replayWith(t, "driver.go", now, now+change)
	require.Error(t, err, out)
	require.Contains(t, out, "TMPRL1100", out)
}

// replayWith runs TestRecordedHistoriesReplay with one text of a source file replaced, and returns its output.
func replayWith(t *testing.T, file, now, changed string) (string, error) {
	t.Helper()
	source, err := filepath.Abs(file)
	require.NoError(t, err)
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), now))
	folder := t.TempDir()
	other, overlay := filepath.Join(folder, filepath.Base(file)), filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(other, []byte(strings.Replace(string(text), now, changed, 1)), 0o600))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{source: other}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-count=1", "-v", "-run", "^TestRecordedHistoriesReplay$", ".").CombinedOutput()
	return string(out), err
}

// A worker that is older than an agent does not run the agent, so that Temporal gives the agent's tasks to another worker.
func TestOlderWorkerDoesNotRunTheAgent(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	workflows.New(workflows.Options{}).Register(env)
	env.ExecuteWorkflow(protocol.AgentWorkflow, agent.Start{Agent: "x", KeyVersion: agent.KeyVersion + 1, Message: &agent.QueuedMessage{ID: "m", Text: "t"}})
	require.ErrorContains(t, env.GetWorkflowError(), "update the worker")
}
