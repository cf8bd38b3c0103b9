package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/reagent-dev/reagent/agent"
	reagent "github.com/reagent-dev/reagent/client"
)

const (
	// restarts is how often a soak restarts its server.
	restarts = 2
	// maxTroubles limits how often one agent is disturbed. Without this limit, the last working agent might never end.
	maxTroubles = 6
)

// disturbUntil causes random disturbances until the channel done delivers a value, and returns this value. The value arrives
// when all agents have completed.
func (s *Soak) disturbUntil(ctx context.Context, done <-chan error) error {
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(time.Duration(100+s.random.IntN(700)) * time.Millisecond):
			s.disturb(ctx)
		}
	}
}

func (s *Soak) disturb(ctx context.Context) {
	restarted := s.ledger.disturbances()[serverRestarted]
	switch n := s.random.IntN(100); {
	case restarted < restarts && int(s.finished.Load()) > (restarted+1)*s.size/(restarts+1):
		s.restartServer(ctx, false)
	case n < 20:
		s.crew.Kill(s.random.IntN(len(s.crew.members)))
	case n < 34:
		s.trouble(s.working(), "terminated, resumed", s.terminate(ctx))
	case n < 54:
		s.trouble(s.started(), "reset", s.resetSome(ctx))
	case n < 65:
		s.trouble(s.working(), "asked to go on in a new run", func(id string) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			return s.Client.Upgrade(ctx, id)
		})
	case n < 76:
		s.trouble(s.started(), "forked", s.fork(ctx))
	default:
		s.trouble(s.interruptible(), interrupted, s.interruptSome(ctx))
	}
}

// trouble disturbs a random agent among those in ids. It calls the function do with the ID of the agent, and records the
// Disturbance in the ledger. The parameter what names the disturbance. If do returns an error, for example because the agent
// has just ended, trouble records nothing.
func (s *Soak) trouble(ids []string, what string, do func(id string) error) {
	if len(ids) == 0 {
		return
	}
	id := ids[s.random.IntN(len(ids))]
	if s.troubled[id] == maxTroubles {
		return
	}
	began := time.Now()
	if err := do(id); err == nil {
		s.troubled[id]++
		s.ledger.disturbed(id, what, began)
	}
}

// working returns the IDs of the started agents that have not completed yet, except forks.
func (s *Soak) working() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.works))
}

// interruptible returns the IDs of the agents that may be interrupted and have not completed yet.
func (s *Soak) interruptible() []string {
	ids := s.working()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(ids, func(id string) bool { return !s.stoppable[id] })
}

// started returns the IDs of all agents that the test has started, except forks.
func (s *Soak) started() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.agents))
}

func (s *Soak) terminate(ctx context.Context) func(string) error {
	return func(id string) error {
		if err := s.Temporal.TerminateWorkflow(ctx, id, "", "test"); err != nil {
			return err
		}
		err := until(ctx, "it is resumed", func(ctx context.Context) (bool, error) {
			_, err := s.Client.Resume(ctx, id, reagent.ResumeOptions{})
			return err == nil, err
		})
		require.NoError(s.T, err, id)
		return nil
	}
}

// resetSome returns a function for [Soak.trouble]. The function resets the newest run of an agent to a random workflow task.
func (s *Soak) resetSome(ctx context.Context) func(string) error {
	return func(id string) error {
		found, err := s.Temporal.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return err
		}
		run := found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		var tasks []int64
		events := s.Temporal.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return err
			}
			if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				tasks = append(tasks, event.GetEventId())
			}
		}
		if len(tasks) == 0 {
			return errors.New("it has not begun")
		}
		_, err = s.Temporal.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
			Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
			Reason: "test", WorkflowTaskFinishEventId: tasks[s.random.IntN(len(tasks))], RequestId: uuid.NewString(),
		})
		return err
	}
}

// fork returns a function for [Soak.trouble]. The function starts a fork of an agent, with the first messages of the agent up
// to a random point, and gives the fork a new task.
func (s *Soak) fork(ctx context.Context) func(string) error {
	return func(id string) error {
		snap, err := s.Client.ShowRecorded(ctx, id)
		if err != nil {
			return err
		}
		at := 1 + s.random.IntN(len(snap.Messages)+1)
		if point, ok := errors.AsType[*agent.ForkPointError]((&agent.State{Messages: snap.Messages}).CheckFork(at)); ok {
			if at = max(point.Before, point.After); at < 1 {
				return point
			}
		}
		f := fork{id: fmt.Sprint(s.Queue, "-fork-", len(s.forks)), from: id, at: at, scenario: Scenarios[s.random.IntN(2)]}
		started, err := s.Client.Fork(ctx, id, reagent.ForkOptions{ID: f.id, At: at, Message: f.scenario.messages[0], Mode: agent.Task})
		if err != nil || started.Found {
			return errors.Join(err, errors.New("not forked"))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forks = append(s.forks, f)
		return nil
	}
}
