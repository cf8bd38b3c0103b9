package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// However many deltas bring a list, it is kept whole if it is small enough, and dropped whole otherwise: a provider refuses reasoning
// whose end, with the signature, is missing.
func TestListOfDeltasIsKeptWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	stream := func(deltas, bytes int) string {
		var c carrying
		for range deltas {
			c.add(carried{ReasoningDetails: fmt.Appendf(nil, `[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":%q}]`, strings.Repeat("a", bytes))})
		}
		c.add(carried{ReasoningDetails: []byte(`[{"type":"reasoning.text","index":0,"signature":"c2ln"}]`)})
		return c.carried().opaque("router").Data
	}
	require.True(t, strings.Contains(stream(30_000, 1), `"signature":"c2ln"`), "more than a megabyte of deltas, of which little is text")
	require.Zero(t, len(stream(30_000, 100)), "three megabytes of text")
	require.Zero(t, len(stream(1, maxCarried)))
}
