package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/llm"
)

// show reports the attempts that may have been paid for in addition to the replies.
func TestShowTellsRepeatedAttempts(t *testing.T) {
	shown := func(r agent.Repeats) string {
		var out bytes.Buffer
		Print(&out, client.Snapshot{ID: "talk", Usage: agent.Usage{ModelCalls: 1, Repeats: r}})
		return out.String()
	}
	require.NotContains(t, shown(agent.Repeats{}), "repeated")
	require.Contains(t, shown(agent.Repeats{Attempts: 1}), "\n1 attempt at a model call was repeated\n")
	lost := agent.Repeats{Attempts: 3, Lost: 2, LostInputTokens: 200}
	require.Contains(t, shown(lost), "\n3 attempts at model calls were repeated; 2 of them lost with a worker; the provider may have billed these, too (200 tokens in)\n")

	var out bytes.Buffer
	require.NoError(t, object.Print(&out, NewAgent(client.Snapshot{Usage: agent.Usage{Repeats: lost}})))
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

// show says how many tokens came from a prompt cache, and which part of all input tokens they are.
func TestShowTellsWhatCameFromACache(t *testing.T) {
	shown := func(u llm.Usage) string {
		var out bytes.Buffer
		Print(&out, client.Snapshot{ID: "talk", Usage: agent.Usage{ModelCalls: 1, Usage: u}})
		return out.String()
	}
	require.Contains(t, shown(llm.Usage{InputTokens: 1200, OutputTokens: 3}), ", 1200 tokens in, 3 out\n")
	require.Contains(t, shown(llm.Usage{InputTokens: 1200, CachedTokens: 900, OutputTokens: 3}), ", 1200 tokens in (900 of them, 75 %, from a prompt cache), 3 out\n")
	require.Contains(t, shown(llm.Usage{InputTokens: 10, CachedTokens: 900}), "(10 of them, 100 %, from a prompt cache)")

	var out bytes.Buffer
	require.NoError(t, object.Print(&out, NewAgent(client.Snapshot{Usage: agent.Usage{Usage: llm.Usage{InputTokens: 9, CachedTokens: 5, CacheWriteTokens: 2}}})))
	require.Contains(t, out.String(), `"cached_tokens":5`)
	require.Contains(t, out.String(), `"cache_write_tokens":2`)
}

// show says who has decided on a call, and who has to act.
func TestShowTellsWhoDecidesAndWhoHasDecided(t *testing.T) {
	s := client.Snapshot{
		ID:       "talk",
		Messages: []agent.Message{{Message: llm.Message{Role: llm.Tool, ToolCallID: "1", Content: "paid"}, Decider: &agent.Decider{Actor: agent.Actor{By: "ann", From: "laptop"}, Time: 1000}}},
		Pending: []agent.Call{
			{Key: "tool-1", Name: "pay", Arguments: "{}", Wait: agent.CallWait{For: agent.WaitsForApproval}}, {Key: "tool-2", Name: "deploy", Arguments: "{}", Wait: agent.CallWait{For: agent.WaitsForResult}}, {Key: "tool-3", Name: "read", Arguments: "{}"},
		},
	}
	var out bytes.Buffer
	Print(&out, s)
	require.Contains(t, out.String(), "… pay, waits for approval\n    no arguments\n… deploy, waits for result\n    no arguments\n… read {}\n")
	require.True(t, strings.HasSuffix(out.String(), "\nNext: `starter approve talk 1` or `starter deny talk 1`\nNext: `starter complete talk --call 2 \"…\"`\n"), out.String())
	out.Reset()
	require.NoError(t, object.Print(&out, NewAgent(s)))
	var got struct {
		Messages []struct {
			DecidedBy map[string]any `json:"decided_by"`
		}
		OpenCalls []struct {
			WaitsFor string `json:"waits_for"`
		} `json:"open_calls"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, map[string]any{"by": "ann", "from": "laptop", "time": "1970-01-01T00:00:01Z"}, got.Messages[0].DecidedBy)
	require.Equal(t, []string{"approval", "result", ""}, []string{got.OpenCalls[0].WaitsFor, got.OpenCalls[1].WaitsFor, got.OpenCalls[2].WaitsFor})
}
