package presence

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// polled is a Temporal that gives the first queries to the open polls of a suspended worker, and the others to a worker that answers.
type polled struct {
	workflowservice.WorkflowServiceClient

	open, asked atomic.Int32
}

// connected is a client of this Temporal.
type connected struct {
	client.Client

	service *polled
}

func (c connected) WorkflowService() workflowservice.WorkflowServiceClient { return c.service }

func (p *polled) QueryWorkflow(ctx context.Context, _ *workflowservice.QueryWorkflowRequest, _ ...grpc.CallOption) (*workflowservice.QueryWorkflowResponse, error) {
	p.asked.Add(1)
	if p.open.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &workflowservice.QueryWorkflowResponse{}, nil
}

// The polls of a suspended worker are used up, however many it has left open, within a limit. After the death of a worker, one round is enough.
func TestOpenPollsAreUsedUp(t *testing.T) {
	t.Parallel()
	for open, rounds := range map[int32]int32{0: 1, 1: 2, 10: 2, 25: 4, 1000: maxDrains} {
		synctest.Test(t, func(t *testing.T) {
			temporal := &polled{}
			temporal.open.Store(open)
			(&Presence{temporal: connected{service: temporal}}).drain(t.Context(), &commonpb.WorkflowExecution{})
			require.Equal(t, rounds*queries, temporal.asked.Load(), "%d polls", open)
		})
	}
}
