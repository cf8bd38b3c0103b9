package world

import (
	"context"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Asked returns the number of assistant messages in a request. Scripted models choose their reply by this number.
func Asked(req llm.Request) int {
	n := 0
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			n++
		}
	}
	return n
}

// Script returns a model for [New] that gives the replies in order: see [llmtest.Script].
func Script(replies ...llm.Reply) func(context.Context, llm.Request) (llm.Reply, error) {
	return llmtest.Script(replies...).Complete
}

// Counting is a model for [New]. It answers "reply 1" to its first request, then "reply 2", and so on.
func Counting(_ context.Context, req llm.Request) (llm.Reply, error) {
	return llmtest.Say(fmt.Sprint("reply ", Asked(req)+1)), nil
}

// Requests returns, for each idempotency key, how many requests with this key have reached the model endpoint.
func (w *World) Requests() map[string]int {
	counts := map[string]int{}
	for _, r := range w.Model.Requests() {
		counts[r.Key]++
	}
	return counts
}

// NothingTwice asserts that no model request and no tool call has arrived twice with the same key.
func (w *World) NothingTwice() {
	w.T.Helper()
	for key, n := range w.Requests() {
		require.Equal(w.T, 1, n, "request %s", key)
	}
	if w.Tools != nil {
		for key, n := range w.Tools.Effects() {
			require.Equal(w.T, 1, n, "effect %s", key)
		}
	}
}

// Values returns the values of a map in ascending order.
func Values(counts map[string]int) []int {
	var all []int
	for _, n := range counts {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}
