package client_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/history"
)

// An agent has the task of a program only if everything that makes the task is the same. A fork has the first message of another agent.
func TestSameTaskIsTheWholeTask(t *testing.T) {
	for _, name := range []string{"task", "resumed", "fork"} {
		temporal, id := recorded(t, "../workflows/testdata/histories/v0.1.0/"+name+".json.gz")
		temporal.written.Store(int64(len(temporal.events)))
		run, err := history.Of(id, temporal.runID, temporal.events, nil)
		require.NoError(t, err)
		task := client.StartOptions{ID: id, Agent: run.Start.Agent, Mode: run.Start.Mode, Message: run.State.Messages[0].Content}
		other := agent.Chat
		if run.Start.Mode == agent.Chat {
			other = agent.Task
		}
		c := client.New(temporal, "")
		same, err := c.Same(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, name != "fork", same, name)
		for what, change := range map[string]func(*client.StartOptions){
			"agent":            func(o *client.StartOptions) { o.Agent = "another" },
			"mode":             func(o *client.StartOptions) { o.Mode = other },
			"text":             func(o *client.StartOptions) { o.Message += "!" },
			"images":           func(o *client.StartOptions) { o.Images = []string{"https://example.com/a.png"} },
			"schema":           func(o *client.StartOptions) { o.OutputSchema = json.RawMessage(`{"type":"object"}`) },
			"message metadata": func(o *client.StartOptions) { o.MessageMetadata = agent.Metadata{"user": "ann"} },
			"metadata":         func(o *client.StartOptions) { o.Metadata = agent.Metadata{"customer": "42"} },
		} {
			another := task
			change(&another)
			same, err := c.Same(t.Context(), another)
			require.NoError(t, err)
			require.False(t, same, what)
		}
	}
}
