package client

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/reagent-dev/reagent/agent"
)

// starts is a Temporal client that records the priority of the last start.
type starts struct {
	client.Client
	last temporal.Priority
}

func (s *starts) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	s.last = o.Priority
	return nil, nil
}

// A chat comes before a task, and a task before the agents of a schedule. The starter can set another priority and a tenant. A task
// without these options is started without a priority.
func TestPriorityOfAStart(t *testing.T) {
	for name, test := range map[string]struct {
		options   StartOptions
		want      temporal.Priority
		scheduled int
	}{
		"task": {StartOptions{}, temporal.Priority{}, 5},
		"chat": {StartOptions{Mode: agent.Chat}, temporal.Priority{PriorityKey: 2}, 5},
		"set":  {StartOptions{Mode: agent.Chat, Priority: 1, Tenant: "acme"}, temporal.Priority{PriorityKey: 1, FairnessKey: "acme"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := new(starts)
			c := New(s, "")
			test.options.ID, test.options.Agent, test.options.Message = "a", "x", "go"
			_, err := c.Start(t.Context(), test.options)
			require.NoError(t, err)
			require.Equal(t, test.want, s.last)
			action, err := c.ScheduleAction(test.options)
			require.NoError(t, err)
			test.want.PriorityKey = test.scheduled
			require.Equal(t, test.want, action.Priority)
		})
	}
	for text, o := range map[string]StartOptions{
		"the priority is 6; use 1 (highest) to 5 (lowest)":                            {Priority: 6},
		"the name of the tenant has 65 bytes; the limit is 64: choose a shorter name": {Tenant: strings.Repeat("x", 65)},
	} {
		o.ID, o.Agent, o.Message = "a", "x", "go"
		_, err := New(new(starts), "").Start(t.Context(), o)
		require.ErrorContains(t, err, text)
	}
}
