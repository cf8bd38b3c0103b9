package main

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/reagent-dev/reagent"
)

// Glossary is a workflow that explains topics. It starts one agent for each topic. The agents run at the same time. Glossary
// returns the explanations in the order of the topics.
func Glossary(ctx workflow.Context, topics []string) ([]string, error) {
	lines := make([]string, len(topics))
	group := workflow.NewWaitGroup(ctx)
	var failed error
	for i, topic := range topics {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			// If this workflow was reset or started again, the agent exists already. Run then returns its answer without a model
			// call.
			result, err := reagent.Run(ctx, reagent.Task{Agent: "writer", Message: topic})
			if err != nil {
				failed = fmt.Errorf("%s: %w", topic, err)
			}
			lines[i] = topic + ": " + result.Answer
		})
	}
	group.Wait(ctx)
	return lines, failed
}
