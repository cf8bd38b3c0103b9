package standin_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/internal/standin"
	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
	"github.com/reagent-dev/reagent/llm/openai"
)

// outcomes sends requests in the given order, three times. It returns the class of error of each attempt at each request.
func outcomes(t *testing.T, order []int) map[string]string {
	server := serve(t, llmtest.Script(llmtest.Say("Hi.")))
	server.Faults = &standin.Faults{Seed: 7, Share: 0.5}
	client, err := openai.New(openai.Options{BaseURL: server.URL, HTTPClient: &http.Client{}})
	require.NoError(t, err)

	met := map[string]string{}
	for attempt := range 3 {
		for _, n := range order {
			req := llm.Request{Candidates: []llm.Candidate{{Name: "fast", Model: "test-model"}}, Messages: []llm.Message{{Role: llm.User, Content: "go"}}}
			req.Key = fmt.Sprint("model-", n)
			_, err := client.Complete(t.Context(), req)
			class := "none"
			if told := (*llm.Error)(nil); errors.As(err, &told) {
				class = string(told.Class)
			}
			met[fmt.Sprint(req.Key, " ", attempt)] = class
		}
	}
	return met
}

// A soak test that failed can be run again with the same seed and gets the same faults.
func TestFaultsFollowFromTheSeedNotFromTheOrderOfRequests(t *testing.T) {
	t.Parallel()
	order := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	first := outcomes(t, order)
	slices.Reverse(order)

	require.Equal(t, first, outcomes(t, order))
	for n := range order {
		three := []string{}
		for attempt := range 3 {
			three = append(three, first[fmt.Sprint("model-", n, " ", attempt)])
		}
		require.Contains(t, three, "none")
	}
}

func TestWithoutAShareNothingGoesWrong(t *testing.T) {
	t.Parallel()
	server := serve(t, llmtest.Script(llmtest.Say("Hi.")))
	server.Faults = &standin.Faults{Seed: 7}
	for range 20 {
		status, _ := post(t, server, `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
		require.Equal(t, http.StatusOK, status)
	}
	require.Empty(t, server.Faults.Counts())
}
