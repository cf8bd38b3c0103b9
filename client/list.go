package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/workflows"
)

// Entry is one agent in a list.
type Entry struct {
	ID      string
	Agent   string
	Status  Status
	Started time.Time
	// Ended is zero while the agent runs.
	Ended time.Time
	// Parent is the ID of the agent whose sub-agent it is; empty for others.
	Parent string
	// RunID is the ID of its newest run, TaskQueue the task queue of that run.
	RunID     string
	TaskQueue string
	// Task is the beginning of the first message; empty for agents that were started by an earlier version.
	Task string
}

// ListOptions narrow a list. The zero value lists all.
type ListOptions struct {
	// Statuses are those to list; none means all. [Waiting] and [Held] count as
	// [Running] here: see [Client.Standing].
	Statuses []Status
	// Agent is the name of a definition.
	Agent string
	// Parent is the ID of the agent whose sub-agents to list.
	Parent string
	// Orphans lists only sub-agents that run although their parent has ended: nobody waits for
	// their answers.
	Orphans bool
	// Before lists the agents that started before it.
	Before time.Time
}

// List yields the agents of the namespace, those that started last first. Sub-agents are among
// them. The status of those that run is "running"; [Client.Standing] tells more. Each agent is listed
// once, however often it was reset or resumed, as its newest run is.
func (c *Client) List(ctx context.Context, o ListOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		request := &workflowservice.ListWorkflowExecutionsRequest{Query: o.query()}
		parents := parents{client: c, ended: map[string]bool{}}
		seen := map[string]bool{}
		for {
			page, err := c.temporal.ListWorkflow(ctx, request)
			if err != nil {
				yield(Entry{}, served("list", "agents", err))
				return
			}
			for _, info := range page.GetExecutions() {
				// A run that continued as new is followed by the one that goes on.
				if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
					continue
				}
				// The name is in the memo, which the server does not search.
				e := c.entry(info)
				if o.Agent != "" && e.Agent != o.Agent || seen[e.ID] {
					continue
				}
				seen[e.ID] = true // Temporal lists the newest run of an ID first
				old, err := c.superseded(ctx, o, info)
				if err != nil {
					yield(Entry{}, err)
					return
				}
				if old {
					continue
				}
				if o.Orphans {
					ended, err := parents.haveEnded(ctx, e.Parent)
					if err != nil {
						yield(Entry{}, err)
						return
					}
					if !ended {
						continue
					}
				}
				if !yield(e, nil) {
					return
				}
			}
			if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
				return
			}
		}
	}
}

// superseded reports whether there is a newer run of the same agent, which the list is too narrow to show.
func (c *Client) superseded(ctx context.Context, o ListOptions, info *workflowpb.WorkflowExecutionInfo) (bool, error) {
	if len(o.Statuses) == 0 && o.Before.IsZero() || info.GetCloseTime() == nil {
		return false, nil
	}
	id := info.GetExecution().GetWorkflowId()
	newest, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return false, nil // deleted meanwhile
	}
	if err != nil {
		return false, served("look at", id, err)
	}
	return newest.GetWorkflowExecutionInfo().GetExecution().GetRunId() != info.GetExecution().GetRunId(), nil
}

// executionStatuses are Temporal's words for ours.
var executionStatuses = map[Status]string{
	Running: "Running", Waiting: "Running", Held: "Running", Completed: "Completed", Failed: "Failed",
	Cancelled: "Canceled", Terminated: "Terminated", TimedOut: "TimedOut",
}

// query is the part of the options that the server can answer.
func (o ListOptions) query() string {
	terms := []string{"WorkflowType = " + quote(workflows.Agent)}
	var statuses []string
	for _, s := range o.Statuses {
		if name := quote(executionStatuses[s]); !slices.Contains(statuses, name) {
			statuses = append(statuses, name)
		}
	}
	if len(statuses) > 0 {
		terms = append(terms, "ExecutionStatus IN ("+strings.Join(statuses, ", ")+")")
	}
	if o.Parent != "" {
		terms = append(terms, "ParentWorkflowId = "+quote(o.Parent))
	}
	if o.Orphans {
		terms = append(terms, "ParentWorkflowId IS NOT NULL", "ExecutionStatus = 'Running'")
	}
	if !o.Before.IsZero() {
		terms = append(terms, "StartTime < "+quote(o.Before.UTC().Format(time.RFC3339Nano)))
	}
	return strings.Join(terms, " AND ")
}

// quote writes a text as a string of Temporal's query language.
func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

func (c *Client) entry(info *workflowpb.WorkflowExecutionInfo) Entry {
	e := Entry{
		ID: info.GetExecution().GetWorkflowId(), Agent: c.memo(info.GetMemo(), workflows.MemoAgent),
		Status: closeStatus(info.GetStatus()), Started: info.GetStartTime().AsTime(),
		Parent: info.GetParentExecution().GetWorkflowId(),
		RunID:  info.GetExecution().GetRunId(), TaskQueue: info.GetTaskQueue(),
		Task: c.memo(info.GetMemo(), workflows.MemoTask),
	}
	if info.GetCloseTime() != nil {
		e.Ended = info.GetCloseTime().AsTime()
	}
	return e
}
