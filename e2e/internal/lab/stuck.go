package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
)

// lastEvents is the number of events that [surroundings.waitsFor] shows.
const lastEvents = 12

// waitsFor describes in a few lines for what an agent waits, so that a test that gave up says why: the open calls of the agent, the open
// work of Temporal, the updates without an outcome, and the last events. The parameter snap is the last known snapshot.
func (s *surroundings) waitsFor(id string, snap reagent.Snapshot) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s at %s", id, snap.Status, clock(time.Now()))
	if snap.Class != "" {
		fmt.Fprintf(&b, ", %s: %s", snap.Class, snap.Failure)
	}
	for _, call := range snap.Pending {
		fmt.Fprintf(&b, "\n  call %s %s %s", call.Key, call.Name, call.Arguments)
		if call.Waits() {
			fmt.Fprintf(&b, " waits for %s: %s", call.WaitsFor(), s.people.knows(wait{call.Key, call.WaitsFor()}))
		}
	}
	found, err := s.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		fmt.Fprintf(&b, "\n  it cannot be described: %v", err)
		return b.String()
	}
	describeWork(&b, found)
	h, err := historyOf(ctx, s.Temporal, id, "")
	if err != nil {
		fmt.Fprintf(&b, "\n  its history cannot be read: %v", err)
		return b.String()
	}
	for _, name := range openUpdates(h) {
		fmt.Fprintf(&b, "\n  update %s was accepted and has no outcome", name)
	}
	events := h.GetEvents()
	from := max(0, len(events)-lastEvents)
	fmt.Fprintf(&b, "\n  the last of %d events:%s", len(events), strings.ReplaceAll(eventLines(&historypb.History{Events: events[from:]}), "\n", "\n  "))
	return b.String()
}

// describeWork writes the open work of a run: its activities, its sub-agents and its workflow task.
func describeWork(b *strings.Builder, found *workflowservice.DescribeWorkflowExecutionResponse) {
	for _, a := range found.GetPendingActivities() {
		fmt.Fprintf(b, "\n  activity %s %s: %s, attempt %d of %d, scheduled %s, started %s, last heartbeat %s, next attempt %s, worker %s: %s",
			a.GetActivityType().GetName(), a.GetActivityId(), a.GetState(), a.GetAttempt(), a.GetMaximumAttempts(),
			clock(a.GetScheduledTime().AsTime()), clock(a.GetLastStartedTime().AsTime()), clock(a.GetLastHeartbeatTime().AsTime()),
			clock(a.GetNextAttemptScheduleTime().AsTime()), a.GetLastWorkerIdentity(), a.GetLastFailure().GetMessage())
	}
	for _, child := range found.GetPendingChildren() {
		fmt.Fprintf(b, "\n  sub-agent %s", child.GetWorkflowId())
	}
	if task := found.GetPendingWorkflowTask(); task != nil {
		fmt.Fprintf(b, "\n  workflow task: %s, attempt %d, scheduled %s, first %s, started %s",
			task.GetState(), task.GetAttempt(), clock(task.GetScheduledTime().AsTime()), clock(task.GetOriginalScheduledTime().AsTime()), clock(task.GetStartedTime().AsTime()))
	}
}

// openUpdates returns the names of the updates that a run has accepted and has not completed.
func openUpdates(h *historypb.History) (names []string) {
	open := map[string]string{}
	for _, e := range h.GetEvents() {
		if accepted := e.GetWorkflowExecutionUpdateAcceptedEventAttributes(); accepted != nil {
			open[accepted.GetProtocolInstanceId()] = accepted.GetAcceptedRequest().GetInput().GetName()
		}
		if done := e.GetWorkflowExecutionUpdateCompletedEventAttributes(); done != nil {
			delete(open, done.GetMeta().GetUpdateId())
		}
	}
	for id, name := range open {
		names = append(names, name+" "+id)
	}
	slices.Sort(names)
	return names
}

// knows describes what people know about a wait.
func (p *people) knows(w wait) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("the hook was notified %d times", len(p.notified[w]))
	if by := p.accepted[w]; by != "" {
		text += ", and " + by + " has accepted a decision"
	} else if r := p.rulings[w.call]; r != nil && w.on == agent.WaitsForApproval {
		text += ", and a decision was sent at " + clock(r.sent)
	}
	return text
}
