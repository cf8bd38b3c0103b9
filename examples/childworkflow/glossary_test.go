package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/reagent-dev/reagent"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/reagenttest"
)

func TestGlossaryExplainsEachTopicInItsPlace(t *testing.T) {
	model := reagenttest.Func(func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return reagenttest.Say("about " + req.Messages[len(req.Messages)-1].Content), nil
	})
	agents := reagenttest.New(t, reagent.Options{Models: reagenttest.Models(model), Agents: []reagent.Agent{{Name: "writer"}}})
	agents.Register(func(r worker.Registry) { r.RegisterWorkflow(Glossary) })
	var lines []string
	require.NoError(t, agents.Execute(Glossary, []string{"keys", "recall"}).Result(&lines))
	require.Equal(t, []string{"keys: about keys", "recall: about recall"}, lines)
}
