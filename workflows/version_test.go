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
	"github.com/reagent-dev/reagent/workflows"
)

// Code with a higher key version replays every recorded history, because an agent keeps the version with which it started.
func TestRaisedKeyVersionReplaysRecordedHistories(t *testing.T) {
	const now, raised = "const KeyVersion = 2\n", "const KeyVersion = 3\n"
	source, err := filepath.Abs("../agent/key.go")
	require.NoError(t, err)
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	require.Contains(t, string(text), now)
	changed := filepath.Join(t.TempDir(), "key.go")
	require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(text), now, raised, 1)), 0o600))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))

	out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay", file, "-count=1", "-v", "-run", "^TestRecordedHistoriesReplay$", ".").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS: TestRecordedHistoriesReplay/", string(out))
}

// A worker that is older than an agent does not run the agent, so that Temporal gives the agent's tasks to another worker.
func TestOlderWorkerDoesNotRunTheAgent(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	workflows.New(workflows.Options{}).Register(env)
	env.ExecuteWorkflow(workflows.Agent, workflows.Start{Agent: "x", KeyVersion: agent.KeyVersion + 1, Message: &agent.InboxMessage{ID: "m", Text: "t"}})
	require.ErrorContains(t, env.GetWorkflowError(), "update the worker")
}
