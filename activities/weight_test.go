package activities

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/testkit/heap"
	"github.com/reagent-dev/reagent/llm"
)

// Many small chats must not hold more memory than few large ones. So the sizes of entries count what an entry takes besides its text.
func TestCachesOfIdleChatsStayWithinTheirBound(t *testing.T) {
	const bound, chats = 8 << 20, 100_000
	hash := strings.Repeat("0", 64)
	before := heap.Bytes()
	c := newCache(bound)
	for i := range chats {
		id := fmt.Sprint("chat-", i)
		start := transcript{origin: agent.ModelIdentity{Identity: agent.Identity{AgentID: strings.Clone(id), Incarnation: strings.Clone(hash)[:36]}, PrefixHash: strings.Clone(hash)}}
		c.transcripts.Set(id, start.extended([]llm.Message{{Role: llm.User, Content: "hello"}, {Role: llm.Assistant, Content: "done"}}))
		c.putResult(id, llm.Message{Role: llm.Tool, Content: "done", ToolCallID: "c"})
	}
	c.transcripts.CleanUp()
	c.answers.CleanUp()
	require.Less(t, heap.Bytes()-before, 2*bound)
	require.Positive(t, c.transcripts.EstimatedSize())
	require.Positive(t, c.answers.EstimatedSize())
	runtime.KeepAlive(c)
}
