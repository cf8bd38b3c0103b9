package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A sub-agent never has a higher priority than its parent.
func TestPriorityOfASubAgent(t *testing.T) {
	for _, c := range []struct{ parent, child, want int }{
		{0, 0, 4}, {2, 0, 4}, {5, 0, 5}, {2, 2, 2}, {0, 1, 3}, {4, 1, 4}, {2, 5, 5},
	} {
		require.Equal(t, c.want, PriorityOfChild(c.parent, c.child), "%+v", c)
	}
}
