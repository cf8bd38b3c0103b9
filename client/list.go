package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Entry describes one agent in the result of [Client.List] or [Client.Tree].
type Entry struct {
	// ID is the agent's ID.
	ID string
	// Agent is the name of the agent's definition: see [agent.Definition].
	Agent string
	// Status is [Running] for every agent that has not ended.
	Status Status
	// Started is the time at which the agent's newest run started.
	Started time.Time
	// Ended is the time at which the agent ended. It is zero if the agent has not ended.
	Ended time.Time
	// Parent is the ID of the parent: an agent, or another workflow that runs the agent as its child. Empty means no parent.
	Parent string
	// RunID is the ID of the agent's newest run.
	RunID string
	// TaskQueue is the task queue of the agent's newest run.
	TaskQueue string
	// Task is the beginning of the first message. It is empty if the agent was started without a message, or by a program with
	// an earlier version of this package.
	Task string
	// Metadata is what the program that started the agent knew about it; nil if there is none.
	Metadata agent.Metadata
}

// ListOptions select the agents that [Client.List] yields. The zero value selects all agents.
type ListOptions struct {
	// Statuses selects only agents with one of these statuses. Empty means all. Temporal's list knows only what the search attributes of
	// an agent say, so some agents come in addition, and only a [Snapshot] has the exact status:
	//   - [Running] selects all agents that have not ended.
	//   - [Waiting] and [Held], without Running, select those that have this status in their search attributes, and those without search
	//     attributes. If the namespace does not have the search attributes of agents, they are like Running.
	Statuses []Status
	// Agent selects only the agents of the definition with this name. Empty means all.
	Agent string
	// Metadata selects only the agents that were started with all of these entries: see [StartOptions]. Empty means all. Temporal does not
	// filter by it, so this reads the list to its end.
	Metadata agent.Metadata
	// Parent selects only the sub-agents of the agent with this ID. Empty means all agents.
	Parent string
	// IDPrefix selects only agents whose ID begins with this text. Empty means all.
	IDPrefix string
	// Orphans selects only running agents whose parent has ended. No parent waits for the answers of these agents.
	Orphans bool
	// outside selects only agents whose calls wait for somebody outside, and agents without search attributes.
	outside bool
	// After selects only the agents that come after this one in the list. A caller that has taken only a part of the list goes on
	// with the rest if it sets After to the last entry of the part. Only the times in the entry count; if they are zero, After
	// selects all agents. An agent that has ended meanwhile, or that is paused in Temporal, may come again.
	After Entry
}

// List yields the agents of the namespace, including sub-agents: first those that have not ended, by the time of their start,
// and then those that have ended, by the time of their end. In both parts, the newest comes first. Each agent comes once, with
// the data of its newest run, even if the agent was reset or resumed.
//
// The status of an agent that has not ended is always [Running]; [Client.DescribeEntry] returns the exact status. If a request
// fails, List yields the error and stops.
func (c *Client) List(ctx context.Context, o ListOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		request := &workflowservice.ListWorkflowExecutionsRequest{Query: o.query() + o.attributes()}
		seen, parents := map[string]bool{}, map[string]bool{}
		for {
			page, err := c.temporal.ListWorkflow(ctx, request)
			if errors.As(err, new(*serviceerror.InvalidArgument)) && request.Query != o.query() {
				request.Query = o.query() // the namespace does not have the search attributes
				continue
			}
			if err != nil {
				yield(Entry{}, served("list agents", err))
				return
			}
			for _, info := range page.GetExecutions() {
				// The agent continues in another run, which Temporal lists, too.
				if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
					continue
				}
				// Temporal cannot filter by the name of the agent and by metadata, which are in the memo.
				e := c.entry(info)
				if o.Agent != "" && e.Agent != o.Agent || seen[e.ID] || !e.Metadata.Has(o.Metadata) {
					continue
				}
				seen[e.ID] = true // Temporal lists the newest run of an ID first
				old, err := c.superseded(ctx, o, info)
				selected := !old
				if err == nil && selected && o.Orphans {
					selected, err = c.parentEnded(ctx, parents, e.Parent)
				}
				if err != nil {
					yield(Entry{}, err)
					return
				}
				if selected && !yield(e, nil) {
					return
				}
			}
			if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
				return
			}
		}
	}
}

// superseded reports whether the agent has a newer run than `info`, an item of Temporal's list. Temporal lists an old run without
// the newer run if the options select only the old run.
func (c *Client) superseded(ctx context.Context, o ListOptions, info *workflowpb.WorkflowExecutionInfo) (bool, error) {
	if len(o.Statuses) == 0 && o.After.Started.IsZero() && o.After.Ended.IsZero() || info.GetCloseTime() == nil {
		return false, nil
	}
	id := info.GetExecution().GetWorkflowId()
	newest, err := c.temporal.DescribeWorkflowExecution(ctx, id, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return false, nil // deleted meanwhile
	}
	if err != nil {
		return false, served(fmt.Sprintf("describe agent %q", id), err)
	}
	return newest.GetWorkflowExecutionInfo().GetExecution().GetRunId() != info.GetExecution().GetRunId(), nil
}

// executionStatuses maps each status of an agent to its name in a filter of Temporal's list.
var executionStatuses = map[Status]string{
	Running: "Running", Waiting: "Running", Held: "Running", Completed: "Completed", Failed: "Failed",
	Cancelled: "Canceled", Terminated: "Terminated", TimedOut: "TimedOut",
}

// query returns the filter with which Temporal lists the selected agents, without [ListOptions.attributes]. The filter leaves out the
// options by which Temporal cannot filter; [Client.List] checks those.
func (o ListOptions) query() string {
	terms := []string{"WorkflowType = " + quote(protocol.AgentWorkflow)}
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
	if o.IDPrefix != "" {
		terms = append(terms, "WorkflowId STARTS_WITH "+quote(o.IDPrefix))
	}
	if o.Orphans {
		terms = append(terms, "ParentWorkflowId IS NOT NULL", "ExecutionStatus = 'Running'")
	}
	switch after := o.After; {
	case !after.Ended.IsZero():
		terms = append(terms, "ExecutionStatus != 'Running'", "CloseTime < "+quote(after.Ended.UTC().Format(time.RFC3339Nano)))
	case !after.Started.IsZero():
		terms = append(terms, "(ExecutionStatus != 'Running' OR StartTime < "+quote(after.Started.UTC().Format(time.RFC3339Nano))+")")
	}
	return strings.Join(terms, " AND ")
}

// attributes returns the rest of the filter, which selects agents by their search attributes. It also selects every agent without search
// attributes, because only the history of such an agent tells its status, and every agent that has ended, because its search attributes still
// say what it did before.
func (o ListOptions) attributes() string {
	terms := ""
	open := slices.DeleteFunc(slices.Clone(o.Statuses), Status.Ended)
	if len(open) > 0 && !slices.Contains(open, Running) {
		terms += " AND (ExecutionStatus != 'Running' OR " + isOneOf(protocol.AttributeStatus, open) + ")"
	}
	if o.outside {
		terms += " AND (" + isOneOf(protocol.AttributeWaitingFor, agent.CallWaitKinds()) + ")"
	}
	return terms
}

// isOneOf returns the filter for agents whose attribute has one of the given values, or that lack the attribute.
func isOneOf[V ~string](attribute temporal.SearchAttributeKeyKeyword, values []V) string {
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, quote(string(v)))
	}
	return fmt.Sprintf("%[1]s IS NULL OR %[1]s IN (%[2]s)", attribute.GetName(), strings.Join(quoted, ", "))
}

func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

func (c *Client) entry(info *workflowpb.WorkflowExecutionInfo) Entry {
	e := Entry{
		ID: info.GetExecution().GetWorkflowId(), Agent: memo[string](c, info.GetMemo(), protocol.MemoAgent),
		Status: closeStatus(info.GetStatus()), Started: info.GetStartTime().AsTime(),
		Parent: info.GetParentExecution().GetWorkflowId(),
		RunID:  info.GetExecution().GetRunId(), TaskQueue: info.GetTaskQueue(),
		Task: memo[string](c, info.GetMemo(), protocol.MemoTask), Metadata: memo[agent.Metadata](c, info.GetMemo(), protocol.MemoMetadata),
	}
	if info.GetCloseTime() != nil {
		e.Ended = info.GetCloseTime().AsTime()
	}
	return e
}
