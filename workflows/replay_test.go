package workflows_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

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
			f, err := os.Open(file)
			require.NoError(t, err)
			defer f.Close()
			z, err := gzip.NewReader(f)
			require.NoError(t, err)
			text, err := io.ReadAll(z)
			require.NoError(t, err)
			var h historypb.History
			require.NoError(t, temporalproto.CustomJSONUnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, &h))

			replayer := worker.NewWorkflowReplayer()
			workflows.New(workflows.Options{}).Register(replayer)
			// Keys depend on the agent's ID, and the driver of a run that was reset needs the run's ID. A history has neither of
			// them, so the file name has them.
			id, run, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json.gz"), "~")
			if uuid.Validate(run) != nil {
				run = "" // earlier versions numbered runs
			}
			err = replayer.ReplayWorkflowHistoryWithOptions(nil, &h, worker.ReplayWorkflowHistoryOptions{
				OriginalExecution: workflow.Execution{ID: id, RunID: run},
			})
			require.NoError(t, err)
		})
	}
}
