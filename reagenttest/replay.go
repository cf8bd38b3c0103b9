package reagenttest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/history"
	"github.com/reagent-dev/reagent/workflows"
)

// maxHistoryBytes is the largest size of a history file after decompression. Temporal limits a history to 50 MB; JSON takes more.
const maxHistoryBytes = 256 << 20

// ReplayOptions are the options of [Replay]. The zero value replays histories of agents.
type ReplayOptions struct {
	// Register adds the workflows of the program, as for [Agents.Register]. Nil means that there are none.
	Register func(worker.Registry)
	// Converter must be the data converter with which the histories were written. Nil means the SDK's default.
	Converter converter.DataConverter
}

// Replay replays recorded histories with the present code of the agents and of the program, without a server. If the code would do
// something else than the recorded run, the test fails: agents that are running could then not go on with this code. Each path is a file
// or a folder, with the files *.json and *.json.gz below it. A file has a history as JSON, as [Agent.Save], `temporal workflow show --output json`
// and the Web UI write it. If there is no file, the test ends.
func Replay(t testing.TB, o ReplayOptions, paths ...string) {
	t.Helper()
	files, err := historyFiles(paths)
	if err != nil {
		t.Fatalf("reagenttest: %v", err)
	}
	for _, file := range files {
		if err := replay(o, file); err != nil {
			t.Errorf("reagenttest: %s: %v", file, err)
		}
	}
}

func replay(o ReplayOptions, file string) error {
	recorded, execution, err := readHistory(file)
	if err != nil {
		return err
	}
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: o.Converter})
	if err != nil {
		return err
	}
	workflows.New(workflows.Options{}).Register(replayer)
	if o.Register != nil {
		o.Register(workflowsOnly{new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment(), replayer})
	}
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	err = replayer.ReplayWorkflowHistoryWithOptions(quiet, recorded, worker.ReplayWorkflowHistoryOptions{OriginalExecution: execution})
	if err != nil {
		return fmt.Errorf("%w; if the code does something else than this run did, let it do so only where workflow.GetVersion says that the run is new", err)
	}
	return nil
}

// workflowsOnly passes the workflows of a program to a replayer. Activities and services go to a test environment, where nobody calls them.
type workflowsOnly struct {
	worker.Registry

	replayer worker.WorkflowReplayer
}

// RegisterWorkflow implements [worker.Registry].
func (o workflowsOnly) RegisterWorkflow(w any) { o.replayer.RegisterWorkflow(w) }

// RegisterWorkflowWithOptions implements [worker.Registry].
func (o workflowsOnly) RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions) {
	o.replayer.RegisterWorkflowWithOptions(w, options)
}

// RegisterDynamicWorkflow implements [worker.Registry].
func (o workflowsOnly) RegisterDynamicWorkflow(w any, options workflow.DynamicRegisterOptions) {
	o.replayer.RegisterDynamicWorkflow(w, options)
}

func historyFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		err := filepath.WalkDir(path, func(file string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && (file == path || strings.HasSuffix(file, ".json") || strings.HasSuffix(file, ".json.gz")) {
				files = append(files, file)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no *.json or *.json.gz in %q: save a history with Agent.Save or `temporal workflow show --output json`", paths)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// readHistory reads a history, and finds out of which run it is.
func readHistory(file string) (*historypb.History, workflow.Execution, error) {
	var none workflow.Execution
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, none, err
	}
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return nil, none, err
		}
		if text, err = io.ReadAll(io.LimitReader(z, maxHistoryBytes+1)); err != nil {
			return nil, none, err
		}
	}
	if len(text) > maxHistoryBytes {
		return nil, none, fmt.Errorf("the history has more than %d bytes", maxHistoryBytes)
	}
	recorded := new(historypb.History)
	if err := (temporalproto.CustomJSONUnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, recorded); err != nil {
		return nil, none, fmt.Errorf("this is no history as JSON: %w", err)
	}
	if len(recorded.GetEvents()) == 0 || recorded.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes() == nil {
		return nil, none, errors.New("this is no history of a workflow, because it does not begin with its start: save it whole")
	}
	return recorded, executionOf(recorded), nil
}

// executionOf returns the run of a history. A reset copies the start of another run, and then names the new run.
func executionOf(h *historypb.History) workflow.Execution {
	begin := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	run := workflow.Execution{ID: begin.GetWorkflowId(), RunID: begin.GetOriginalExecutionRunId()}
	for _, event := range h.GetEvents() {
		failed := event.GetWorkflowTaskFailedEventAttributes()
		if failed.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW && failed.GetNewRunId() != "" {
			run.RunID = failed.GetNewRunId()
		}
	}
	return run
}

// saveHistory writes the history of the newest run of a workflow to a file.
func saveHistory(ctx context.Context, c client.Client, id, file string) error {
	found, err := c.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return err
	}
	recorded := new(historypb.History)
	run := agent.RunRef{ID: id, RunID: found.GetWorkflowExecutionInfo().GetExecution().GetRunId()}
	for event, err := range history.Events(ctx, c, run) {
		if err != nil {
			return err
		}
		recorded.Events = append(recorded.Events, event)
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: "  "}.Marshal(recorded)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}
