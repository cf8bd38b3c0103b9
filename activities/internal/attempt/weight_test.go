package attempt

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reagent-dev/reagent/agent"
	"github.com/reagent-dev/reagent/internal/testkit/heap"
	"github.com/reagent-dev/reagent/llm"
)

// Many small results must not hold more memory than few large ones. So the size of an entry counts what it takes besides its data.
func TestSmallResultsStayWithinTheirBound(t *testing.T) {
	const bound = 8 << 20
	before := heap.Bytes()
	k, err := newKept(bound, "", nil, nil)
	require.NoError(t, err)
	for i := range 100_000 {
		k.put(t.Context(), agent.Key(fmt.Sprint("model-", i)), llm.Message{Role: llm.Assistant, Content: "done"})
	}
	k.memory.CleanUp()
	require.Less(t, heap.Bytes()-before, 2*bound)
	require.Positive(t, k.memory.EstimatedSize())
	runtime.KeepAlive(k)
}
