package history

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/reagent-dev/reagent/agent"
)

// ErrNotListed says that Temporal's list of runs does not show a run yet. Temporal updates the list late, so the caller has to try
// again after a few seconds.
var ErrNotListed = errors.New("this run is not listed by Temporal yet, so earlier runs may be missing from the list, too; try again after a few seconds")

// Newest returns the run whose state a resumed agent takes over. `from` is the run that the resume was asked to continue.
// `self` is the ID of the new run that the resume started.
//
// Usually Newest returns the run `from`. But two programs may resume the agent at the same time, and the slower program does not
// know the run that the faster program started. So if another run began directly before the new run and ended later than `from`,
// Newest returns that other run.
//
// The error is [ErrNotListed] as long as Temporal's list of runs does not show the new run.
func Newest(ctx context.Context, c client.Client, from agent.RunRef, self string) (agent.RunRef, error) {
	runs, err := Runs(ctx, c, from.ID)
	if err != nil {
		return from, err
	}
	return NewestOf(ctx, c, runs, from, self)
}

// NewestOf returns the same run as [Newest], but does not list the runs of the agent. The caller passes the list, newest first: see
// [Runs].
func NewestOf(ctx context.Context, c client.Client, runs []string, from agent.RunRef, self string) (agent.RunRef, error) {
	for i, run := range runs {
		if run != self {
			continue
		}
		if i+1 == len(runs) || runs[i+1] == from.RunID {
			return from, nil
		}
		later, err := closedLater(ctx, c, from, runs[i+1])
		if later {
			from.RunID = runs[i+1]
		}
		return from, err
	}
	return from, ErrNotListed
}

// Runs returns the IDs of all runs of a workflow ID, newest first. The newest runs may be missing for some time, because Temporal
// updates its list of runs late.
func Runs(ctx context.Context, c client.Client, workflowID string) ([]string, error) {
	runs, err := RunsOf(ctx, c, []string{workflowID})
	return runs[workflowID], err
}

// RunsOf is [Runs] for several workflow IDs. It returns the IDs of the runs by workflow ID, each list newest first. It sends one list
// request for each page of Temporal. The list of workflow IDs must not be empty.
func RunsOf(ctx context.Context, c client.Client, workflowIDs []string) (map[string][]string, error) {
	quoted := make([]string, len(workflowIDs))
	for i, id := range workflowIDs {
		quoted[i] = strconv.Quote(id)
	}
	query := "WorkflowId IN (" + strings.Join(quoted, ", ") + ")"
	if len(quoted) == 1 {
		query = "WorkflowId = " + quoted[0]
	}
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: query}
	runs := map[string][]string{}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list the runs of %s: %w", quoted[0], err)
		}
		for _, info := range page.GetExecutions() {
			run := info.GetExecution()
			runs[run.GetWorkflowId()] = append(runs[run.GetWorkflowId()], run.GetRunId())
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return runs, nil
		}
	}
}

// closedLater compares two runs of one agent: it reports whether the second run ended after the first. If Temporal has deleted one
// of the two, that one counts as the run that ended first.
func closedLater(ctx context.Context, c client.Client, from agent.RunRef, other string) (bool, error) {
	var ends [2]*workflowpb.WorkflowExecutionInfo
	for i, run := range []string{from.RunID, other} {
		found, err := c.DescribeWorkflowExecution(ctx, from.ID, run)
		if errors.As(err, new(*serviceerror.NotFound)) {
			return i == 0, nil
		}
		if err != nil {
			return false, fmt.Errorf("describe run %s of agent %s: %w", run, from.ID, err)
		}
		ends[i] = found.GetWorkflowExecutionInfo()
	}
	return ends[1].GetCloseTime().AsTime().After(ends[0].GetCloseTime().AsTime()), nil
}
