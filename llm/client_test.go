package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

func TestReplyWithoutTextOrCallIsEmpty(t *testing.T) {
	t.Parallel()

	empty := map[string]llm.Message{
		"nothing":        {Role: llm.Assistant},
		"blank text":     {Role: llm.Assistant, Content: " \n\t"},
		"only reasoning": {Role: llm.Assistant, Reasoning: "hm"},
	}
	for name, message := range empty {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := llm.Reply{Message: message, FinishReason: "length"}.Validate()
			require.ErrorIs(t, err, llm.ErrEmptyReply)
			require.ErrorContains(t, err, "length")
		})
	}

	full := map[string]llm.Message{
		"text":  {Role: llm.Assistant, Content: "hi"},
		"call":  {Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "f"}}},
		"parts": {Role: llm.Assistant, Parts: []llm.Part{{Type: "image", URL: "https://example.com/a.png"}}},
	}
	for name, message := range full {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, llm.Reply{Message: message}.Validate())
		})
	}
}

// Empty fields must not be encoded. Otherwise a new field of Request would change the keys of agents that do not use it.
func TestAbsentFieldsOfARequestAreNotEncoded(t *testing.T) {
	t.Parallel()

	encoded, err := json.Marshal(llm.Request{
		Candidates: []llm.Candidate{{Name: "fast", Model: "gpt"}},
		Messages:   []llm.Message{{Role: llm.User, Content: "hi"}},
		Key:        "not hashed",
	})
	require.NoError(t, err)
	require.Equal(t,
		`{"candidates":[{"name":"fast","model":"gpt"}],"messages":[{"role":"user","content":"hi"}]}`,
		string(encoded))
}

func TestErrorsOfOneClassAreTheSame(t *testing.T) {
	t.Parallel()

	err := error(&llm.Error{Class: llm.RateLimited, Status: 429, Message: "slow down"})
	require.ErrorIs(t, err, &llm.Error{Class: llm.RateLimited})
	require.NotErrorIs(t, err, llm.ErrEmptyReply)
	require.Equal(t, "model: rate limit reached (HTTP 429): slow down", err.Error())
}
