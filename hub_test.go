package reagent

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/llm"
)

// A listener receives the chunks of its agent in order. If it is too slow, it learns how many chunks it missed, and it does not
// block the stream.
func TestHubHandsPiecesToThoseWhoListen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hub := new(Hub)
	hub.Stream(Chunk{AgentID: "a"}) // nobody listens
	pieces := hub.Listen(ctx, "a")
	for range hubBuffer + 5 {
		hub.Stream(Chunk{AgentID: "a", Delta: llm.Delta{Text: "x"}})
		hub.Stream(Chunk{AgentID: "b"})
	}
	n := 0
	for p := range pieces {
		require.Equal(t, "a", p.AgentID)
		if n++; n == hubBuffer {
			hub.Stream(Chunk{AgentID: "a", Delta: llm.Delta{Text: "y"}})
		}
		if p.Delta.Text == "y" {
			require.Equal(t, 5, p.Missed)
			break
		}
	}
	require.Equal(t, hubBuffer+1, n)
	require.Empty(t, hub.listeners, "who stops is forgotten")

	// A listener that is too slow for the text still learns that the attempt has ended, and that something is missing.
	pieces = hub.Listen(ctx, "a")
	for range hubBuffer + 5 {
		hub.Stream(Chunk{AgentID: "a", Delta: llm.Delta{Text: "x"}})
	}
	hub.Stream(Chunk{AgentID: "a", End: Committed})
	for range 2 * hubEnds {
		hub.Stream(Chunk{AgentID: "a", End: Discarded}) // never blocks
	}
	n = 0
	for p := range pieces {
		if p.End != "" {
			require.Equal(t, Committed, p.End)
			require.Equal(t, 5, p.Missed)
			break
		}
		n++
	}
	require.Equal(t, hubBuffer, n)

	hub.Listen(ctx, "")
	require.Len(t, hub.listeners, 1)
	cancel()
	require.Eventually(t, func() bool {
		hub.mu.Lock()
		defer hub.mu.Unlock()
		return len(hub.listeners) == 0
	}, 10e9, 1e6)
}
