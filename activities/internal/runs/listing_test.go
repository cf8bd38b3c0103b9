package runs

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// manyRuns is a Temporal client that lists one run for each ID of a list request, and records the times of the requests.
type manyRuns struct {
	client.Client
	mu    sync.Mutex
	times []time.Time
}

func (m *manyRuns) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	m.mu.Lock()
	m.times = append(m.times, time.Now())
	m.mu.Unlock()
	var out workflowservice.ListWorkflowExecutionsResponse
	for i, id := range strings.Split(in.GetQuery(), `"`) {
		if i%2 == 1 {
			out.Executions = append(out.Executions, &workflowpb.WorkflowExecutionInfo{
				Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "run of " + id},
			})
		}
	}
	return &out, nil
}

// A thousand agents that a worker recovers at once share a few list requests. The worker sends at most two of them a second.
func TestManyAgentsShareFewListRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(manyRuns)
		l := newLister(newLimitedLists(m))
		found := make([][]string, 1000)
		var all sync.WaitGroup
		for i := range found {
			all.Go(func() { found[i], _ = l.runs(t.Context(), fmt.Sprint("agent-", i)) })
		}
		all.Wait()
		for i, each := range found {
			require.Equal(t, []string{fmt.Sprint("run of agent-", i)}, each)
		}
		require.LessOrEqual(t, len(m.times), 12, "requests with a hundred IDs each, and two with the first IDs")
		for i := range m.times[1:] {
			require.GreaterOrEqual(t, m.times[i+1].Sub(m.times[i]), time.Second/listsPerSecond)
		}
	})
}
