package compare

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/app/object"
	"github.com/reagent-dev/reagent/internal/printable"
	"github.com/reagent-dev/reagent/llm"
)

func defined() *agent.Definition {
	return &agent.Definition{
		Name: "x", Instructions: "You help.\nBe brief.", Candidates: []llm.Candidate{{Name: "fast", Model: "gpt-4o-mini"}, {Name: "slow", Model: "slow"}},
		Params: llm.Params{Temperature: new(0.2)}, Limits: agent.Limits{Tokens: 100, Time: time.Minute, Cost: agent.Dollar},
		Tools: []agent.Tool{{Name: "pay", Description: "pays", Schema: json.RawMessage(`{"type":"object"}`), Ref: "pay@1", TaskQueue: "host-1"}},
	}
}

// The comparison begins with each field in which the definitions differ, the instructions first. What says nothing about the agent's work
// is no difference.
func TestComparisonBeginsWithTheDefinitions(t *testing.T) {
	a, b := worked("a", "1", `{}`, "done", 1, 2, 3, 4), worked("b", "2", `{}`, "done", 1, 2, 3, 4)
	a.Definition, b.Definition = defined(), defined()
	d := b.Definition
	d.Name, d.TaskQueue, d.Tools[0].Ref, d.Tools[0].TaskQueue = "y", "limited", "pay@2", "host-2"
	require.Empty(t, Agents(a, b).Differences)

	d.Instructions, d.Candidates[1] = "You help.\nBe kind.\nBe brief.", llm.Candidate{Name: "slow", Model: "slow-2", Params: &llm.Params{Seed: new(7)}}
	d.Params.Temperature, d.Limits.Time, d.Limits.Cost, d.Limits.Message = new(0.5), time.Hour, 0, "Enough."
	d.Tools[0].Approval, d.KeepAgents = true, true
	d.Tools = append(d.Tools, agent.Tool{Name: "clerk", Description: "does the rest", Agent: "clerk"})
	c := Agents(a, b)
	require.Equal(t, []object.Difference{
		{Field: "instructions", InA: "You help.\nBe brief.", InB: "You help.\nBe kind.\nBe brief."},
		{Field: "models", InA: "fast (gpt-4o-mini), slow", InB: "fast (gpt-4o-mini), slow (slow-2)"},
		{Field: "parameters.slow.seed", InB: "7"},
		{Field: "parameters.temperature", InA: "0.2", InB: "0.5"},
		{Field: "limits.cost", InA: "$1.0000"},
		{Field: "limits.message", InB: "Enough."},
		{Field: "limits.time", InA: "1m0s", InB: "1h0m0s"},
		{Field: "tools.clerk", InB: "sub-agent"},
		{Field: "tools.pay.approval", InB: "true"},
		{Field: "keep_agents", InB: "true"},
	}, c.Differences)

	var out bytes.Buffer
	Print(&out, c, 0)
	require.True(t, strings.HasPrefix(out.String(), "The definitions differ:\n  instructions: Be brief. │ Be kind.\n"), out.String())
	require.Contains(t, out.String(), "  limits.cost: $1.0000 │ (nothing)\n")

	b.Definition = nil
	require.Empty(t, Agents(a, b).Differences)
}

// On a terminal, each difference has one line within its width, whatever the definitions contain, and the line shows where they differ.
func TestAttackComparisonOfHostileDefinitions(t *testing.T) {
	a, b := worked("a", "1", `{}`, "done", 1, 2, 3, 4), worked("b", "2", `{}`, "done", 1, 2, 3, 4)
	a.Definition, b.Definition = defined(), defined()
	long := strings.Repeat("the same 日本 ", 1000)
	a.Definition.Instructions, b.Definition.Instructions = long+"left\x1b[2J\r"+long, long+"right\u202e"+long
	a.Definition.Tools[0].Name = strings.Repeat("日", 100)
	for _, width := range []int{0, 60, 79, 200} {
		var out bytes.Buffer
		Print(&out, Agents(a, b), width)
		head, _, _ := strings.Cut(out.String(), "\n\n")
		require.Equal(t, printable.Text(head), head)
		lines := strings.Split(head, "\n")
		require.Len(t, lines, 4)
		require.Contains(t, lines[1], "left")
		require.Contains(t, lines[1], "right")
		for _, line := range lines {
			require.True(t, width == 0 || ansi.StringWidth(line) < width, "%d: %s", width, line)
		}
	}
}
