package view

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/client"
)

// A person sees what was refused, when and by whom. The ID of the text is for programs.
func TestRefusedTextsHaveTheirTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 4, 5, 0, time.Local)
	refusal := agent.GivenVerdict{Guardrail: "tone", Action: agent.TextRefused, Reason: "rude", Decider: &agent.Decider{Actor: agent.Actor{By: "ann"}}}
	id := agent.Key("0190a1b2-0000-7000-8000-000000000000")
	var out bytes.Buffer
	Print(&out, client.Snapshot{ID: "a", Agent: "x", Refused: []agent.RefusedText{
		{GivenVerdict: refusal, Kind: agent.TextMessage, Of: id, Time: at.UnixMilli()},
		{GivenVerdict: refusal, Kind: agent.TextMessage, Of: "tool-b0e86962c8de663a172d0fc86f1b3609"},
	}})
	require.Contains(t, out.String(), "refused  message at 2026-01-02 12:04:05: tone: refuse, rude, by ann\n")
	require.Contains(t, out.String(), "refused  answer to a question: tone: refuse, rude, by ann\n")
	require.NotContains(t, out.String(), string(id))
}
