package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/protocol"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// A run does not compress a large state, which takes seconds: the next run reads it through an activity.
func TestLargeStateIsReadByTheNextRun(t *testing.T) {
	b := newBench(t)
	s := agent.New("default-test-workflow-id", agent.Start{Agent: "x", KeyVersion: agent.KeyVersion, Mode: agent.Chat, Incarnation: "l", Message: &agent.QueuedMessage{ID: "m", Text: "go"}}, 0)
	s.Apply(agent.DefinitionLoaded{Key: s.Next().(agent.Load).Key, Definition: b.def})
	s.Advance(0)
	for range 24 {
		s.Apply(agent.ModelReplied{Key: s.Next().(agent.CallModel).Key, Reply: llm.Reply{Message: llm.Message{Content: strings.Repeat("all work ", 110_000)}}})
		s.Apply(agent.MessageReceived{Message: agent.QueuedMessage{ID: s.TranscriptHash, Text: "on"}})
		s.Advance(0)
	}
	packed, err := protocol.Pack(s)
	require.NoError(t, err)
	require.Less(t, len(packed), 1_000_000, "compressed, it would fit into the input of the next run")
	b.RegisterActivityWithOptions(func(_ context.Context, in protocol.ReadAgentInput) (protocol.Page, error) {
		from := in.Page * protocol.StatePageBytes
		return protocol.Page{Data: packed[from:min(from+protocol.StatePageBytes, len(packed))], Pages: (len(packed)-1)/protocol.StatePageBytes + 1}, nil
	}, activity.RegisterOptions{Name: protocol.ReadAgent})
	b.model = func(int) (llm.Reply, error) { return llmtest.Say("done"), nil }
	b.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
	b.RegisterDelayedCallback(func() { b.UpdateWorkflowNoRejection(protocol.UpgradeUpdate, "u", t) }, time.Hour)

	b.ExecuteWorkflow(protocol.AgentWorkflow, agent.Start{
		Agent: "x", KeyVersion: agent.KeyVersion, Mode: agent.Chat, Incarnation: "l", From: &agent.RunRef{ID: "default-test-workflow-id", RunID: "ended", Resume: true},
	})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, b.GetWorkflowError(), &next)
	var in agent.Start
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	require.Nil(t, in.State)
	require.Equal(t, testRun, protocol.RunSuffix(in.From.RunID))
}
