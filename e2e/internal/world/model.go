package world

import (
	"context"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
	"github.com/reagent-dev/reagent/llm/llmtest"
)

// Asked returns how many assistant messages a request has, by which the scripted models choose their reply.
func Asked(req llm.Request) int {
	n := 0
	for _, m := range req.Messages {
		if m.Role == llm.Assistant {
			n++
		}
	}
	return n
}

// Script returns a model that answers with the replies in order.
func Script(replies ...llm.Reply) func(context.Context, llm.Request) (llm.Reply, error) {
	return llmtest.Script(replies...).Complete
}

// Counting is a model that answers "reply 1", "reply 2" and so on.
func Counting(_ context.Context, req llm.Request) (llm.Reply, error) {
	return llmtest.Say(fmt.Sprint("reply ", Asked(req)+1)), nil
}

// Requests counts at the model how often each key was asked for.
func (w *World) Requests() map[string]int {
	counts := map[string]int{}
	for _, r := range w.Model.Requests() {
		counts[r.Key]++
	}
	return counts
}

// NothingTwice asserts that every request and every effect was made once.
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

// Values returns the counts, sorted.
func Values(counts map[string]int) []int {
	var all []int
	for _, n := range counts {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}
