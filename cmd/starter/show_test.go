package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// show reports the attempts that may have been paid for in addition to the replies.
func TestShowTellsRepeatedAttempts(t *testing.T) {
	shown := func(r agent.Repeats) string {
		var out bytes.Buffer
		printSnapshot(&out, client.Snapshot{ID: "talk", Usage: agent.Usage{ModelCalls: 1, Repeats: r}})
		return out.String()
	}
	require.NotContains(t, shown(agent.Repeats{}), "repeated")
	require.Contains(t, shown(agent.Repeats{Attempts: 1}), "\n1 attempt at a model call was repeated\n")
	lost := agent.Repeats{Attempts: 3, Lost: 2, LostInputTokens: 200}
	require.Contains(t, shown(lost), "\n3 attempts at model calls were repeated; 2 of them lost with a worker; the provider may have billed these, too (200 tokens in)\n")

	var out bytes.Buffer
	require.NoError(t, printJSON(&out, view(client.Snapshot{Usage: agent.Usage{Repeats: lost}})))
	var got struct {
		Usage struct {
			RepeatedAttempts int `json:"repeated_attempts"`
			LostAttempts     int `json:"lost_attempts"`
			LostInputTokens  int `json:"lost_input_tokens"`
		} `json:"usage"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, []int{3, 2, 200}, []int{got.Usage.RepeatedAttempts, got.Usage.LostAttempts, got.Usage.LostInputTokens})
}
