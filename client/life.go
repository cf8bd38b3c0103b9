package client

import (
	"context"
	"maps"
	"slices"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
)

// Life is an agent with all of its runs that Temporal still has. Two agents that have had the same ID, one after the other, are two lives.
type Life struct {
	// Entry describes the newest run that Temporal's list has.
	Entry

	// Incarnation distinguishes the agent from others that have had the same ID: see [agent.Start]. It is empty for agents that a Schedule
	// or a workflow of yours has started.
	Incarnation string
	// ParentRunID is the ID of the run that has started the agent as its child. It is empty if the agent has no parent.
	ParentRunID string
	// Runs are the IDs of the runs, oldest first. There is at least one.
	Runs []string
	// Unreadable says that the memo of the newest run cannot be decoded, for example because a codec is missing. Other fields may then be
	// empty.
	Unreadable bool
}

// Lives returns all agents of the namespace, also those whose ID belongs to a newer agent, and those of which Temporal has only a run that
// has continued in another one. It reads Temporal's list to its end, which may be out of date for a moment. Agents without an incarnation
// are told apart by their metadata. After each page, Lives calls `see` with the number of runs so far; `see` may be nil.
func (c *Client) Lives(ctx context.Context, see func(runs int)) ([]Life, error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: ListOptions{}.query()}
	var lives []Life
	known := map[[2]string][]int{} // the lives with an ID and an incarnation
	runs := 0
	for {
		page, err := c.temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, served("list agents", err)
		}
		for _, info := range page.GetExecutions() {
			l := c.life(info)
			name := [2]string{l.ID, l.Incarnation}
			i := slices.IndexFunc(known[name], func(i int) bool { return l.Incarnation != "" || maps.Equal(lives[i].Metadata, l.Metadata) })
			if i < 0 {
				known[name] = append(known[name], len(lives))
				lives = append(lives, l)
				continue
			}
			same := &lives[known[name][i]]
			if !slices.Contains(same.Runs, l.RunID) { // a run that has ended meanwhile may come again
				same.Runs = append(same.Runs, l.RunID)
			}
		}
		if runs += len(page.GetExecutions()); see != nil {
			see(runs)
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	for _, l := range lives {
		slices.Reverse(l.Runs) // Temporal lists the newest first
	}
	return lives, nil
}

func (c *Client) life(info *workflowpb.WorkflowExecutionInfo) Life {
	e := c.entry(info)
	var metadata agent.Metadata
	p := info.GetMemo().GetFields()[protocol.MemoMetadata]
	return Life{
		Entry: e, Incarnation: memo[string](c, info.GetMemo(), protocol.MemoIncarnation),
		ParentRunID: info.GetParentExecution().GetRunId(), Runs: []string{e.RunID},
		Unreadable: e.Agent == "" || p != nil && c.converter.FromPayload(p, &metadata) != nil,
	}
}

// has reports whether a run belongs to the agent. `info` is Temporal's description of the run, which may have begun after the list was
// made.
func (c *Client) has(l Life, info *workflowpb.WorkflowExecutionInfo) bool {
	if slices.Contains(l.Runs, info.GetExecution().GetRunId()) {
		return true
	}
	if l.Incarnation == "" {
		return slices.Contains(l.Runs, info.GetFirstRunId())
	}
	return memo[string](c, info.GetMemo(), protocol.MemoIncarnation) == l.Incarnation
}
