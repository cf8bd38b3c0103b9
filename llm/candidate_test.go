package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// A candidate gets its own parameters, and the schema of the request. Without parameters of its own, it gets those of the request.
func TestEachCandidateGetsItsParameters(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object"}`)
	shared := llm.Params{ReasoningEffort: "high", MaxOutputTokens: 9, OutputSchema: schema}
	req := llm.Request{Params: shared, Candidates: []llm.Candidate{
		{Name: "main"}, {Name: "spare", Params: &llm.Params{ReasoningEffort: "none"}}, {Name: "plain", Params: &llm.Params{}},
	}}
	before, err := json.Marshal(req)
	require.NoError(t, err)
	for i, want := range []llm.Params{shared, {ReasoningEffort: "none", OutputSchema: schema}, {OutputSchema: schema}} {
		got := req.To(req.Candidates[i])
		require.Equal(t, want, got.Params)
		require.Equal(t, []llm.Candidate{{Name: req.Candidates[i].Name}}, got.Candidates)
	}
	after, err := json.Marshal(req)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "the request itself does not change")
}
