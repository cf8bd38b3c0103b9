package demo

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// The counts show a call that is made again: the tool server does not refuse its key.
func TestToolServerCountsACallThatIsMadeAgain(t *testing.T) {
	s, err := startToolServer(t.Context(), t.TempDir())
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, DisableStandaloneSSE: true}, nil)
	require.NoError(t, err)
	defer session.Close()
	for i, key := range []string{"a", "b", "a"} {
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Meta: mcp.Meta{"reagent.dev/key": key}, Name: publishTool, Arguments: map[string]any{"text": "x"},
		})
		require.NoError(t, err)
		require.Equal(t, []mcp.Content{text("Published as note %d.", i+1).Content[0]}, got.Content)
	}
	require.Equal(t, ToolCount{Calls: 3, Keys: 2, Again: 1}, s.published.count())
	require.Zero(t, s.measured.count())
}
