package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/plural"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/internal/shellword"
)

const (
	// maxDescribed is the largest number of agents that are described, and describedAtOnce how many at the same time.
	maxDescribed, describedAtOnce = 500, 16
	// maxStuck is the largest number of stuck agents that a finding names.
	maxStuck = 5
	// tries is the number of attempts after which a call or a workflow task that fails is stuck.
	tries = 5
	// untaken is how long a task may wait for a worker.
	untaken = time.Minute
)

// stuckAgent is an agent that does not go on, and why.
type stuckAgent struct{ id, why string }

// checkStuck looks at the agents in the middle of a turn: whether their calls or workflow tasks fail again and again, or no worker takes them.
func checkStuck(ctx context.Context, p *patient) []object.Finding {
	query := ofAgents
	if p.searchable {
		query = fmt.Sprintf("%s AND (%s = '%s' OR %s IS NULL", ofAgents, protocol.AttributeStatus.GetName(), client.Running, protocol.AttributeStatus.GetName())
		if p.problems {
			query += " OR " + reportedProblems + " IS NOT NULL"
		}
		query += ")"
	}
	ids, more, err := p.ids(ctx, query)
	if err != nil {
		return []object.Finding{failed("list the running agents", err)}
	}
	var mu sync.Mutex
	var stuck []stuckAgent
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(describedAtOnce)
	for _, id := range ids {
		group.Go(func() error {
			found, err := p.temporal.DescribeWorkflowExecution(reading, id, "")
			if err != nil {
				return err
			}
			if why := stuckBy(found, time.Now()); why != "" {
				mu.Lock()
				defer mu.Unlock()
				stuck = append(stuck, stuckAgent{id, why})
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return []object.Finding{failed("describe the running agents", err)}
	}
	slices.SortFunc(stuck, func(a, b stuckAgent) int { return strings.Compare(a.id, b.id) })
	found := []object.Finding{judgeStuck(stuck)}
	if more {
		found = append(found, unchecked(fmt.Sprintf("whether further agents are stuck: only the newest %d that run were looked at", maxDescribed)))
	}
	return found
}

// ids returns the IDs of the newest workflows that a query finds, and whether there are more.
func (p *patient) ids(ctx context.Context, query string) (ids []string, more bool, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: p.flags.Namespace, Query: query}
	for {
		page, err := p.temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, false, err
		}
		for _, info := range page.GetExecutions() {
			if len(ids) == maxDescribed {
				return ids, true, nil
			}
			ids = append(ids, info.GetExecution().GetWorkflowId())
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return ids, false, nil
		}
	}
}

// ofTurn are the activities of a turn. Those that wait for a sub-agent fail until it answers, and mean nothing.
var ofTurn = map[string]string{
	protocol.CallModel: "model call", protocol.CallTool: "tool call", protocol.LoadAgent: "definition", protocol.ResolveOverrides: "overrides",
}

// stuckBy returns why a workflow does not go on; empty if it does.
func stuckBy(d *workflowservice.DescribeWorkflowExecutionResponse, now time.Time) string {
	if task := d.GetPendingWorkflowTask(); task != nil {
		switch waits := now.Sub(task.GetScheduledTime().AsTime()); {
		case task.GetAttempt() >= tries:
			return fmt.Sprintf("its workflow task has failed %d times", task.GetAttempt()-1)
		case task.GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED && task.GetScheduledTime() != nil && waits > untaken:
			return fmt.Sprintf("no worker has taken its workflow task for %s", waits.Round(time.Second))
		}
	}
	for _, a := range d.GetPendingActivities() {
		what := ofTurn[a.GetActivityType().GetName()]
		switch waits := now.Sub(a.GetScheduledTime().AsTime()); {
		case what == "":
		case a.GetAttempt() > tries && a.GetLastFailure() != nil:
			return fmt.Sprintf("its %s has failed %d times: %s", what, a.GetAttempt()-1, printable.Line(a.GetLastFailure().GetMessage(), 100))
		case a.GetAttempt() <= 1 && a.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED && a.GetScheduledTime() != nil && waits > untaken:
			return fmt.Sprintf("no worker has taken its %s for %s", what, waits.Round(time.Second))
		}
	}
	return ""
}

func judgeStuck(stuck []stuckAgent) object.Finding {
	if len(stuck) == 0 {
		return well("no agent is stuck: no call or workflow task fails again and again, and none waits for a worker")
	}
	var reasons, ids []string
	for i, s := range stuck {
		if i < maxStuck {
			reasons = append(reasons, printable.Name(s.id)+": "+s.why)
			ids = append(ids, strconv.Quote(s.id))
		}
	}
	text := fmt.Sprintf("%s %s stuck: %s", plural.Of(len(stuck), "agent"), verb(len(stuck), "is", "are"), strings.Join(reasons, "; "))
	if more := len(stuck) - maxStuck; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	list := shellword.Starter("list").With("--where " + shellword.Quote("id in ["+strings.Join(ids, ", ")+"]")).String()
	show := shellword.Starter("show", stuck[0].id).String()
	return wrong(text, fmt.Sprintf("list them with `%s`; `%s` has the error of the first", list, show), list, show)
}
