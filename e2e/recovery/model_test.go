package recovery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/e2e/internal/world"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// An agent keeps the model with which it began. It works on if no agent of the file has the model any more, and if the model has no
// limit on requests any more. If the model is no longer in the file, the agent waits, and people see for what. A reload gives
// it the new model.
func TestAgentKeepsItsModelInANewConfiguration(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(_ context.Context, req llm.Request) (llm.Reply, error) {
		return llmtest.Say(req.Candidates[0].Model + " says hello"), nil
	}, nil, "")
	configure := func(models ...string) *world.Process {
		yaml := fmt.Sprintf("task_queue: %s\nmodels:\n", w.Queue)
		for _, m := range models {
			yaml += fmt.Sprintf("  "+m+"\n", w.Model.URL)
		}
		name, _, _ := strings.Cut(models[0], ":")
		w.WriteConfig(yaml + "agents:\n  x: {model: " + name + "}\n")
		return w.Worker()
	}
	const newer = "newer: {model: new, base_url: %q}"
	first := configure("older: {model: old, base_url: %q, rate: {requests_per_minute: 6000}}")
	require.Contains(t, w.Must("run", "--chat", "--id", t.Name(), "one"), "old says hello")
	first.Terminate()

	second := configure(newer, "older: {model: old, base_url: %q}")
	require.Contains(t, second.Output(), "Model       older: old at "+w.Model.URL)
	require.Contains(t, w.Must("send", "--wait", "30s", t.Name(), "two"), "old says hello")
	second.Terminate()

	third := configure(newer)
	id := t.Name() + "-2"
	require.Contains(t, w.Must("run", "--chat", "--id", id, "one"), "new says hello")
	third.Terminate()

	configure("last: {model: last, base_url: %q}")
	w.Must("send", "--detach", id, "two")
	w.Eventually("people see what the agent waits for", func() bool {
		snap, err := w.Client.Describe(t.Context(), id)
		return err == nil && snap.Retry != nil && strings.Contains(snap.Retry.Message, `the model "newer" is not on this worker`)
	})
	require.Contains(t, w.Must("show", id), "interrupt the agent and reload its definition")
	w.Must("interrupt", id)
	w.Must("reload", id)
	require.Contains(t, w.Must("send", id, "go on"), "last says hello")
	w.NothingTwice()
}
