package workflows_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/internal/testkit/recording"
	"github.com/reagent-dev/reagent/workflows"
)

// Histories that were recorded with a real server replay without an error. So agents that an earlier version started can
// go on with this version. `make histories` records new histories.
func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*/*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			r, err := recording.Read(file)
			require.NoError(t, err)
			replayer := worker.NewWorkflowReplayer()
			workflows.New(workflows.Options{}).Register(replayer)
			err = replayer.ReplayWorkflowHistoryWithOptions(nil, r.History, worker.ReplayWorkflowHistoryOptions{
				OriginalExecution: workflow.Execution{ID: r.ID, RunID: r.RunID},
			})
			require.NoError(t, err)
		})
	}
}
