package client_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// shelf is a Temporal client with some runs, the newest first. It notes what it is asked to do.
type shelf struct {
	sdk.Client

	runs []*workflowpb.WorkflowExecutionInfo
	// stubborn agents do not end when they are cancelled.
	stubborn bool
	asked    []string
}

func (s *shelf) add(t *testing.T, id, run, incarnation, customer string, open bool) {
	t.Helper()
	fields := map[string]*commonpb.Payload{}
	for name, value := range map[string]any{protocol.MemoAgent: "x", protocol.MemoIncarnation: incarnation, protocol.MemoMetadata: agent.Metadata{"customer": customer}} {
		p, err := converter.GetDefaultDataConverter().ToPayload(value)
		require.NoError(t, err)
		fields[name] = p
	}
	status := enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	if open {
		status = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	s.runs = append(s.runs, &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run}, Type: &commonpb.WorkflowType{Name: protocol.AgentWorkflow},
		Memo: &commonpb.Memo{Fields: fields}, Status: status, FirstRunId: run,
	})
}

// ListWorkflow lists one run on each page.
func (s *shelf) ListWorkflow(_ context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	n := len(r.GetNextPageToken())
	if n >= len(s.runs) {
		return &workflowservice.ListWorkflowExecutionsResponse{}, nil
	}
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: s.runs[n : n+1], NextPageToken: make([]byte, n+1)}, nil
}

func (s *shelf) DescribeWorkflowExecution(_ context.Context, id, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	for _, info := range s.runs {
		if info.GetExecution().GetWorkflowId() == id && (run == "" || info.GetExecution().GetRunId() == run) {
			return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info}, nil
		}
	}
	return nil, serviceerror.NewNotFound("gone")
}

func (s *shelf) end(verb, run string, now bool) {
	s.asked = append(s.asked, verb+" "+run)
	for _, info := range s.runs {
		if info.GetExecution().GetRunId() == run && now {
			info.Status = enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED
		}
	}
}

func (s *shelf) CancelWorkflow(_ context.Context, _, run string) error {
	s.end("cancel", run, !s.stubborn)
	return nil
}

func (s *shelf) TerminateWorkflow(_ context.Context, _, run, _ string, _ ...any) error {
	s.end("terminate", run, true)
	return nil
}

func (s *shelf) WorkflowService() workflowservice.WorkflowServiceClient { return deleting{shelf: s} }

type deleting struct {
	workflowservice.WorkflowServiceClient

	shelf *shelf
}

func (d deleting) DeleteWorkflowExecution(_ context.Context, r *workflowservice.DeleteWorkflowExecutionRequest, _ ...grpc.CallOption) (*workflowservice.DeleteWorkflowExecutionResponse, error) {
	d.shelf.asked = append(d.shelf.asked, "delete "+r.GetWorkflowExecution().GetRunId())
	d.shelf.runs = slices.DeleteFunc(d.shelf.runs, func(info *workflowpb.WorkflowExecutionInfo) bool {
		return info.GetExecution().GetRunId() == r.GetWorkflowExecution().GetRunId()
	})
	return &workflowservice.DeleteWorkflowExecutionResponse{}, nil
}

// Two agents that have had the same ID are two lives, and all runs of one agent are one.
func TestAgentsWithOneIDAreTwoLives(t *testing.T) {
	s := &shelf{}
	s.add(t, "daily", "r5", "today", "43", true)
	s.add(t, "other", "r4", "o", "42", true)
	s.add(t, "daily", "r3", "yesterday", "42", false)
	s.add(t, "daily", "r2", "today", "43", false)
	s.add(t, "daily", "r1", "yesterday", "42", false)
	s.add(t, "schedule", "r0", "", "42", false)
	s.add(t, "schedule", "r9", "", "43", false)
	s.add(t, "schedule", "r8", "", "42", false)
	var counts []int
	lives, err := client.New(s, "").Lives(t.Context(), func(runs int) { counts = append(counts, runs) })
	require.NoError(t, err)
	var got []string
	for _, l := range lives {
		got = append(got, fmt.Sprint(l.ID, " ", l.RunID, " ", l.Runs, " of customer ", l.Metadata["customer"]))
	}
	require.Equal(t, []string{
		"daily r5 [r2 r5] of customer 43", "other r4 [r4] of customer 42", "daily r3 [r1 r3] of customer 42", "schedule r0 [r8 r0] of customer 42",
		"schedule r9 [r9] of customer 43",
	}, got)
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8, 8}, counts)
}

// Parents are cancelled before their sub-agents, and deleted after them, so that a repeated command finds the rest. An agent that does not
// end is terminated. Another agent with the same ID is not touched, even if it is the newest.
func TestForgetDeletesTheRootLastAndNoNamesake(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		s := &shelf{stubborn: stubborn}
		s.add(t, "daily", "other", "today", "43", true)
		s.add(t, "root", "r2", "r", "42", true)
		s.add(t, "child", "c1", "c", "42", true)
		s.add(t, "root", "r1", "r", "42", false)
		s.add(t, "daily", "old", "yesterday", "42", false)
		life := func(id, incarnation string, runs ...string) client.Life {
			return client.Life{Entry: client.Entry{ID: id}, Incarnation: incarnation, Runs: runs}
		}
		c := client.New(s, "")
		// The list is out of date: it does not have the newest run.
		require.NoError(t, c.Forget(t.Context(), "default", []client.Life{life("root", "r", "r1"), life("child", "c", "c1")}, 50*time.Millisecond))
		require.NoError(t, c.Forget(t.Context(), "default", []client.Life{life("daily", "yesterday", "old")}, 0))
		want := []string{"cancel r2", "cancel c1", "delete c1", "delete r1", "delete r2", "delete old"}
		if stubborn {
			want = slices.Insert(want, 2, "terminate r2", "terminate c1")
		}
		require.Equal(t, want, s.asked)
		require.Len(t, s.runs, 1)
		for run, want := range map[string]bool{"old": true, "other": false} {
			gone, err := c.Gone(t.Context(), life("daily", "", run))
			require.NoError(t, err)
			require.Equal(t, want, gone)
		}
	}
}

// An agent whose memo cannot be decoded is told apart from one that does not match.
func TestLifeWithoutItsCodecIsUnreadable(t *testing.T) {
	s := &shelf{}
	s.add(t, "a", "r1", "i", "42", true)
	s.add(t, "b", "r2", "j", "42", true)
	s.runs[1].Memo.Fields[protocol.MemoMetadata].Metadata[converter.MetadataEncoding] = []byte("binary/encrypted")
	lives, err := client.New(s, "").Lives(t.Context(), nil)
	require.NoError(t, err)
	require.False(t, lives[0].Unreadable)
	require.True(t, lives[1].Unreadable)
}
