package llm_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/anthropic"
	"github.com/reagent-dev/reagent/llm/internal/catalogue"
	"github.com/reagent-dev/reagent/llm/openai"
)

// Every response of the catalogue becomes the reply or the error that a good client makes of it.
func TestWireCases(t *testing.T) {
	t.Parallel()
	for _, c := range catalogue.Read(t, "testdata/wire/*.jsonl") {
		for _, mode := range c.Modes {
			t.Run(c.Wire+"/"+c.Name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				judge(t, c, mode == "stream")
			})
		}
	}
}

func judge(t *testing.T, c catalogue.Case, stream bool) {
	far := &catalogue.Endpoint{Case: c}
	server := httptest.NewServer(far)
	t.Cleanup(server.Close)
	client := clientOf(t, c.Wire, server.URL, stream)
	req := llm.Request{
		Candidates: []llm.Candidate{{Name: "m", Model: "m"}}, Tools: catalogue.Tools,
		Messages: []llm.Message{{Role: llm.User, Content: "How is the weather?"}},
	}
	p := c.Params
	req.Params = llm.Params{
		ReasoningEffort: p.ReasoningEffort, MaxOutputTokens: p.MaxOutputTokens, OutputSchema: p.OutputSchema, ToolChoice: p.ToolChoice,
		Temperature: p.Temperature, TopP: p.TopP, Seed: p.Seed, ParallelToolCalls: p.Parallel, Extra: p.Extra,
	}

	reply, err := client.Complete(t.Context(), req)

	catalogue.Asked(t, far.Requests())
	require.Len(t, far.Requests(), max(c.Expect.Requests, 1), "error %v", err)
	require.Equal(t, c.Expect.Outcome, catalogue.Outcome(t, reply, err, c.Expect.Outcome), "error %v, reply %.500v", err, reply)
	if err != nil {
		told, ok := errors.AsType[*llm.Error](err)
		require.True(t, ok, "%T", err)
		if len(c.Expect.Class) > 0 {
			require.Contains(t, c.Expect.Class, told.Class, "%v", err)
		}
		require.Contains(t, strings.ToLower(err.Error()), strings.ToLower(c.Expect.ErrorContains))
		return
	}
	c.Compare(t, reply)
	got := map[string]int{
		"input": reply.Usage.InputTokens, "output": reply.Usage.OutputTokens, "cached": reply.Usage.CachedTokens,
		"written": reply.Usage.CacheWriteTokens, "reasoning": reply.Usage.ReasoningTokens,
	}
	for name, n := range c.Expect.Usage {
		require.Equal(t, n, got[name], "%s tokens", name)
	}
	if c.Expect.Resend == nil && c.Expect.ResendNot == nil {
		return
	}
	req.Messages = append(req.Messages, reply.Message)
	for _, call := range reply.Message.ToolCalls {
		req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, ToolCallID: call.ID, Content: "Nice."})
	}
	if len(reply.Message.ToolCalls) == 0 {
		req.Messages = append(req.Messages, llm.Message{Role: llm.User, Content: "And tomorrow?"})
	}
	_, _ = client.Complete(t.Context(), req)
	requests := far.Requests()
	for _, part := range c.Expect.Resend {
		require.Contains(t, requests[len(requests)-1], part, "the next request")
	}
	for _, part := range c.Expect.ResendNot {
		require.NotContains(t, requests[len(requests)-1], part, "the next request")
	}
}

// clientOf returns a client of the API that a case names.
func clientOf(t *testing.T, wire, url string, stream bool) llm.Client {
	var client llm.Client
	var err error
	switch wire {
	case "anthropic":
		client, err = anthropic.New(anthropic.Options{BaseURL: url, NoStream: !stream})
	case "responses":
		client, err = openai.New(openai.Options{BaseURL: url + "/v1", API: openai.ResponsesAPI, NoStream: !stream})
	default:
		client, err = openai.New(openai.Options{BaseURL: url + "/v1", API: openai.ChatAPI, NoStream: !stream})
	}
	require.NoError(t, err)
	return client
}
